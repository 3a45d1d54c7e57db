"""The commands. Each is a module of its name with ``main(argv)``, its exit code, and ``entry``, which ends the
process with it. The console scripts stand in ``start``.

    train, predict, scale              svm-train, svm-predict, svm-scale
    grid, easy, subset, checkdata      LIBSVM's scripts; of grid, gridjob is the command line,
                                       gridfile the results file, gridtables and gridplot what is shown
    update                             rows that join a model and leave it
    compress, export                   fewer support vectors; models as C, JSON, ONNX
    batch                              many command lines, each in a fork of one process
    toy                                rows on a page in the browser: libsvmx/toy/

    options        LIBSVM's grammar: letters, flags, long names, switches
    solveroptions  --solver and the options of solvers, made from their settings
    process        how a command lives: exit codes, messages, parts of the work
    ending         how it ends: at once, by a signal, or first without the files that it was writing
    helptext       usages as wide as the terminal
    progress       the line that tells how far a command is
    report         --report; results: what each command did
    plan           svmx-train --explain

``gridjob.Job`` and ``update.Job`` inherit ``train.Job``, which holds what the command line asks for. Open
``train.grammar`` first. What is printed stands in libsvmx/io/transcript.py.
"""
