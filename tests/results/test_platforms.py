"""The tool that compares machines: two of the same kind stay apart."""

from tool_modules import load_tool

TOOL = load_tool("platforms")
HEAD = ",".join(TOOL.FIELDS)


def test_machines_of_the_same_name_are_compared(tmp_path):
    for name, digest in (("here", "aa"), ("there", "bb")):
        (tmp_path / f"{name}.csv").write_text(f"{HEAD}\nx86 CPU,imagenet-c/fog,1,32x32,uint8,{digest},0,0\n")
    lines = list(TOOL.comparison([tmp_path / "here.csv", tmp_path / "there.csv"]))
    assert "| x86 CPU | 1 of 1 | 1 of 1 |" in lines
    assert "| x86 CPU (there.csv) | 0 of 1 | 0 of 1 |" in lines
