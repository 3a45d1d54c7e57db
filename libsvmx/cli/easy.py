"""svmx-easy: easy.py's work - scale, search C and gamma, train, and predict a test set - in one process."""

from __future__ import annotations

import os

from libsvmx._core.records import replace
from libsvmx._train.folds import Rand
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.training import train_problem
from libsvmx._typing import Buffer
from libsvmx.cli import grid, gridjob, predict, scale
from libsvmx.cli.ending import tidy_end
from libsvmx.cli.options import UsageError, count, keep_apart, parse, setter
from libsvmx.cli.process import entry_of, follow, gap_ends_at, phase, tell, warn, watch, write
from libsvmx.cli.solveroptions import asked_solvers, solver_grammar
from libsvmx.cli.train import gap_at_end, grammar, row_weights
from libsvmx.io.files import STANDARD_INPUT, same_file
from libsvmx.io.modelfile import save_model
from libsvmx.io.outputs import check_target
from libsvmx.io.svmlight import DataFile, read_data

USAGE = """\
usage: svmx-easy [options] training_file [testing_file]

Scales the training file to [-1, 1], searches C and gamma of an RBF kernel by 5-fold cross-validation,
trains a model with the best, and scales and predicts the testing file. Files go to the current folder:
<training_file>.range, .scale, .scale.out, .scale.png (with matplotlib), .model; <testing_file>.scale, .predict

options:
  -W FILE              weights of the rows of the training file, as in svmx-train; none are needed to predict
  --workers N          processes that share the search, needs joblib
  --dask ADDRESS       share the search among the workers of a Dask scheduler
  --seeder METHOD      as in svmx-grid
  --threads N          threads to use
  --solver NAME        and its options, as in svmx-train, for the search and the model; crsvm needs --rank N
  --resume             go on with the search in <training_file>.scale.out, if it is there
  --lenient            skip blank lines and comment lines in the data
  --report FILE        write a report of results and times, as JSON
  --help, --version
"""


def main(argv: list[str]) -> int:
    """The command, given its arguments; returns its exit code."""
    job = gridjob.Job(command="svmx-easy", resume_option="--resume")
    resume: list[bool] = []
    letters, _, names, switches = grammar(job, ())
    solver_names, solver_switches = solver_grammar(job.values, asked_solvers(argv))
    names = {
        "--threads": names["--threads"],
        **solver_names,
        "--seeder": names["--seeder"],
        "--workers": setter(vars(job), "workers", count),
        "--dask": setter(vars(job), "dask"),
    }
    del switches["--loo"], switches["--explain"]
    switches |= solver_switches
    switches["--resume"] = lambda: resume.append(True)
    files = parse(argv, {"W": letters["W"]}, {}, names, switches, USAGE, "svmx-easy")
    if not 1 <= len(files) <= 2:
        raise UsageError("a training file and perhaps a testing file are needed" if argv else "")
    job.plan(0)  # check the options before anything is written
    outputs = checked_outputs(files, [] if job.weight_file is None else [job.weight_file])
    train_name = os.path.basename(files[0])
    model_file = f"{train_name}.model"
    job.dataset = f"{train_name}.scale"
    job.out, job.png = f"{job.dataset}.out", f"{job.dataset}.png"
    if resume and os.path.exists(job.out):
        job.resume = job.out

    watch(False, *outputs)
    weights = None
    if job.weight_file is not None:
        weights = row_weights(job.weight_file, read_data(files[0], lenient=job.lenient), job.lenient)
    write("Scaling training data...\n")
    range_file = f"{train_name}.range"
    scale.scale_file(scale.Job(save=range_file, output=job.dataset, lenient=job.lenient), files[0])
    write("Cross validation...\n")
    gridjob.check(job)
    scaled, observer = read_data(job.dataset), grid.Remarks()
    follow(observer)
    best = grid.search_file(job, scaled, lambda line: None, observer).best
    assert best.log2c is not None
    assert best.log2g is not None
    C, gamma = 2.0**best.log2c, 2.0**best.log2g
    write(f"Best c={C}, g={gamma} CV rate={best.rate}\n")
    write("Training...\n")
    train_file(scaled, replace(job.parameter(), C=C, gamma=gamma), model_file, weights)
    write(f"Output model: {model_file}\n")
    if len(files) == 2:
        test_name = os.path.basename(files[1])
        write("Scaling testing data...\n")
        scale.scale_file(scale.Job(restore=range_file, output=f"{test_name}.scale", lenient=job.lenient), files[1])
        write("Testing...\n")
        threads = [f"--threads={job.values['threads']}"] if "threads" in job.values else []
        # ./: a name may start with a dash
        outputs = [os.path.join(".", f"{test_name}{end}") for end in (".scale", ".predict")]
        predict.main([*threads, outputs[0], os.path.join(".", model_file), outputs[1]])
        write(f"Output prediction: {test_name}.predict\n")
    return 0


def checked_outputs(files: list[str], more: list[str]) -> list[str]:
    """Names of all outputs, after checks that inputs exist and that no output replaces one. ``more``: other inputs."""
    if STANDARD_INPUT in (*files, *more):
        raise UsageError("the data must be a file, not standard input: it is read several times")
    for name in (*files, *more):
        os.stat(name)
        if os.path.isdir(name):
            raise IsADirectoryError(21, "Is a directory", name)
    names = [os.path.basename(name) for name in files]
    if len(set(names)) < len(names) and not same_file(*files):
        warn(f"both files are called {names[0]}: at the end {names[0]}.scale has the rows of {files[1]}, as in easy.py")
    endings = [(".range", ".scale", ".scale.out", ".scale.png", ".model"), (".scale", ".predict")]
    outputs = [base + end for base, ends in zip(names, endings, strict=False) for end in ends]
    for target in outputs:
        check_target(target)
        keep_apart((*files, *more), target, "output")
    return outputs


def train_file(data: DataFile, param: Parameter, model_file: str, weights: Buffer | None = None) -> None:
    """Train on scaled data and save the model."""
    problem = Problem(data.matrix, data.targets, sample_weight=weights)
    observer = Observer()
    follow(observer)
    gap_ends_at(lambda: gap_at_end(problem, param))
    with data.located(), phase("training"):
        model = train_problem(problem, param, Rand(), observer)
    tell("data", data)
    tell("training", model)
    with phase("writing"), tidy_end():
        save_model(model_file, model)


entry = entry_of("svmx-easy", main, USAGE)
