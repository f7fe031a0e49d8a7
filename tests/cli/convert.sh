# Converting: the summary, both command lines, and what is said of a wrong one or a wrong file.
. "$TOOLS/common.sh"
gunzip -c "$DATA/link/torch_mlp_adam_ne/out.nosync.json.gz" >plus.json
summary() { sed 's/^ *[0-9.]* s .*/TIME/; s/^ *[0-9.]* [kM]B  /SIZE  /'; }
sutra convert plus.json -o a.et 2>&1 | summary
sutra convert plus.json --compat -o b.et 2>&1 | summary
ln -s "$(command -v sutra)" chakra_converter
./chakra_converter --log-filename log PyTorch --input plus.json --output c.et --quiet && cmp b.et c.et && ls
try ./chakra_converter --input plus.json --output c.et
try ./chakra_converter Text --input plus.json --output c.et
try sutra convert
try sutra convert plus.json
try sutra convert plus.json --input plus.json -o c.et
try sutra convert plus.json -o plus.json
gunzip -c "$DATA/link/torch_mlp_adam_ne/device.json.gz" >device.json
try sutra convert device.json -o d.et
printf '{"nodes": [{"id": 1, "name": 3}]}' >broken.json
try sutra convert broken.json -o d.et
printf '{"nodes": [{"name": "a"}]}' >broken.json
try sutra convert broken.json -o d.et
sutra convert plus.json -o e.et --quiet --stats - | grep -o '"n_[a-z_]*": [0-9]*'
