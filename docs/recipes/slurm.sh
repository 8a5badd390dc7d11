#!/usr/bin/env bash
#SBATCH --job-name=course-grade
#SBATCH --ntasks=16
#SBATCH --cpus-per-task=1
#SBATCH --mem-per-cpu=6G
#SBATCH --time=01:00:00
# Grades one assignment on 16 processors, from the course's folder: sbatch docs/recipes/slurm.sh 03-attention
# The folder is on a file system that all nodes see, with .venv/ in it, and bubblewrap is on the nodes.
set -euo pipefail
assignment=${1:?usage: sbatch docs/recipes/slurm.sh ASSIGNMENT}
PATH="$PWD/.venv/bin:$PATH"
port=$((20000 + SLURM_JOB_ID % 20000))
address="tcp://$(hostname):$port"

dask scheduler --port "$port" --no-dashboard &
scheduler=$!
# One task is left to the scheduler and to `course grade`, which alone writes to the gradebook.
srun --ntasks=$((SLURM_NTASKS - 1)) --overlap dask worker "$address" --nworkers 1 --nthreads 1 --no-dashboard &
workers=$!
trap 'kill "$workers" "$scheduler" 2>/dev/null || true' EXIT

course grade "$assignment" --scheduler "$address"
