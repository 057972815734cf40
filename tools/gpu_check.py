"""Digests of what a GPU makes: python gpu_check.py FILE [BEFORE]. With BEFORE, differences are listed."""
import hashlib, json, sys, time
import torch, scuff

def pictures(n, c, h, w):
    g = torch.Generator().manual_seed(h * 1000 + w)
    i, j = torch.meshgrid(torch.arange(h) / h, torch.arange(w) / w, indexing="ij")
    k = torch.arange(1, n + 1)[:, None, None, None]
    ch = torch.arange(1, c + 1)[:, None, None]
    x = 0.4 + 0.4 * torch.sin(7 * (k * i + ch * j)) + 0.2 * torch.rand(n, c, h, w, generator=g)
    return torch.round(255 * x.clamp(0, 1)).to(torch.uint8)

SIZES = [(4, 3, 224, 224), (4, 3, 32, 32), (3, 3, 131, 300), (2, 3, 21, 33), (2, 1, 40, 25), (2, 3, 5, 3)]
CELLS = [("imagenet-c", e) for e in scuff.load_suite("imagenet-c").entries]
EXTRA = [(suite, e) for suite in ("syn2nat-candidates", "noc-candidates") for e in scuff.load_suite(suite).entries]
EXTRA += [("c-bar-candidates-224", e) for e in ("circular_motion_blur", "caustic_refraction")]
EXTRA += [("coco-c", e) for e in ("elastic_transform",) if "coco-c" in scuff.list_suites()] if hasattr(scuff, "list_suites") else []
CELLS += EXTRA
found = {}
start = time.time()
for suite, entry in CELLS:
    levels = scuff.load_suite(suite).levels(entry)
    few = (suite, entry) in EXTRA
    for size in SIZES[0:4:3] if few else SIZES:
        p = pictures(*size).cuda()
        for level in levels if size[2] == 224 and not few else (levels[0], levels[-1], levels[len(levels) // 2]):
            for kind, x in (("u", p),) if few else (("u", p), ("f", p / 255)):
                try:
                    y = scuff.corrupt(x, entry, level, suite=suite, check=False)
                    torch.cuda.synchronize()
                    found[f"{suite}/{entry}/{level} {size} {kind}"] = hashlib.sha256(y.cpu().numpy().tobytes()).hexdigest()
                    if "jpeg" in entry and kind == "u" and suite == "imagenet-c":
                        if not torch.equal(y.cpu(), scuff.corrupt(x.cpu(), entry, level, suite=suite)):
                            print("GPU != CPU", suite, entry, level, size)
                except Exception as error:
                    found[f"{suite}/{entry}/{level} {size} {kind}"] = f"error {type(error).__name__}"
                    print("ERROR", suite, entry, level, size, kind, str(error)[:300], flush=True)
print(len(found), "digests in", round(time.time() - start, 1), "s")
json.dump(found, open(sys.argv[1], "w"))
if len(sys.argv) > 2:
    before = json.load(open(sys.argv[2]))
    wrong = [k for k in found if found[k] != before.get(k)]
    print(len(wrong), "of", len(found), "differ from before")
    for k in wrong[:40]:
        print("  DIFFERENT", k)
