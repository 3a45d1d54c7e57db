"""The jobs: each module has JOBS, {name on the command line: Job}.

training, chunked and interior train cases with several solvers and share trainings; seeding (with loo) and grid share
validators; updating has ways_to_update and streams. Code of the child processes is in ``trainings.train``, in
validators, ways_to_update and streams, and in functions of the jobs; measure.py calls it by name.
"""
