s/"name": "aten::linear"/"name": "Optimizer.step#SGD.step"/g
s/"name": "aten::bmm"/"name": "aten::cat"/g
s/"dur": 13,/"dur": 10,/g
s/"dur": 7,/"dur": 6,/g
