#!/bin/bash
#SBATCH --job-name=course-workers
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=32G
#SBATCH --time=04:00:00
#SBATCH --output=course-workers-%j.log

# Workers for `course grade ASSIGNMENT --scheduler tcp://HOST:8786`, one per processor of the job.
# On a machine that the nodes can reach:   .venv/bin/dask scheduler --port 8786
# In the folder of the course, on any login node, as often as you want more of them:
#     sbatch --export=ALL,SCHEDULER=tcp://HOST:8786 docs/recipes/slurm-workers.sh
set -euo pipefail
: "${SCHEDULER:?send it with --export=ALL,SCHEDULER=tcp://HOST:8786}"
exec "${COURSE_PYTHON:-.venv/bin/python}" -m distributed.cli.dask_worker "$SCHEDULER" \
    --nworkers "${SLURM_CPUS_PER_TASK:-1}" --nthreads 1 --no-dashboard --death-timeout 300
