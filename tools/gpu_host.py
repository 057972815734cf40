"""How long the host takes to send one call of one image."""
import cProfile, pstats, sys, time
import torch, scuff
from scuff import kernels

suite = scuff.load_suite("imagenet-c")
x = torch.rand(1, 3, 224, 224).cuda()
p = (x * 255).to(torch.uint8)
ids = torch.arange(1).cuda()

def host(call, n=60):
    for _ in range(5):
        call()
    torch.cuda.synchronize()
    best = 1e9
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(n // 5):
            call()
        best = min(best, (time.perf_counter() - start) / (n // 5))
        torch.cuda.synchronize()
    return 1e6 * best

print("torch add", host(lambda: x + x), "bytes_to_unit", host(lambda: kernels.bytes_to_unit(p)), "empty", host(lambda: torch.empty_like(x)))
names = sys.argv[1:]
print({name: round(host(lambda: scuff.corrupt(p, name, 3, suite=suite, ids=ids, check=False))) for name in names})
for name in ("gaussian_noise", "elastic_transform"):
    call = lambda: scuff.corrupt(p, name, 3, suite=suite, ids=ids, check=False)
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(100):
        call()
    profile.disable()
    torch.cuda.synchronize()
    print(name)
    pstats.Stats(profile).sort_stats("tottime").print_stats(22)
