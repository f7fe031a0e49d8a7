# Directions of messages in .et files: by the arguments of the kernel, else by the operators above it. Both ends of a
# message call c10d::send here, as batched sends and receives do.
. "$TOOLS/common.sh"
sutra gen --events 2k --ranks 4 --seed 3 --host hosts --device devices
sed -i 's/c10d::recv_/c10d::send/; s/nccl:recv [0-9]*<-[0-9]*/nccl:sendrecv/' hosts/host.*.json
messages() {
    for rank in 0 1 2 3; do
        sutra jsonize $1/rank.$rank.et --lines | grep SendRecv |
            sed -E "s/.*\"type\": \"([A-Z_]*)\".*/rank $rank \1 &/; s/ \{.*(\{\"name\": \"comm_src\"[^}]*\}).*(\{\"name\": \"comm_dst\"[^}]*\}).*/ \1 \2/; s/ \{\"id.*//"
    done
}
sutra link hosts devices -o job --format et --quiet
messages job
sutra check job/rank.*.et --groups job/comm_groups.json | tail -n 1
echo "without the ranks in the arguments of the kernels: the group has two members"
sed -i -E 's/"(Src|Dst) Rank": ?[0-9]+,//' devices/device.*.json
sutra link hosts devices -o job --format et --quiet
messages job
echo "without arguments, both ends send"
sed -i 's/"Collective name"/"Other name"/' devices/device.*.json
sutra link hosts devices -o job --format et --quiet
messages job | cut -d' ' -f1-3
echo "and durations contain the waits for a straggler, so the simulation waits at no collective:"
sutra gen --events 2k --ranks 4 --seed 3 --straggler-rank 1 --host slow_hosts --device slow_devices
sed -i 's/"Collective name"/"Other name"/' slow_devices/device.*.json
for form in streams one; do
    sutra link slow_hosts slow_devices -o slow --format et --gpu $form 2>&1 | grep 'measured\|arguments'
    sutra simulate slow --quiet | head -n 1
done
sutra jsonize slow/rank.0.et --lines | sed -n 1p | grep -o '{"name": "meetings"[^}]*}'
echo "--plain is the file of sutra convert:"
sutra link hosts/host.0.json devices/device.0.json -o plain.et --plain --quiet
sutra link hosts/host.0.json devices/device.0.json -o - --quiet | sutra convert - -o converted.et --quiet
cmp plain.et converted.et && echo same
