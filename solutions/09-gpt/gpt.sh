#!/bin/bash
#SBATCH --job-name=gpt
#SBATCH --time=00:20:00
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=4
#SBATCH --mem=16G
#SBATCH --gres=gpu:1
#SBATCH --output=%x-%j.log
set -euo pipefail
export COURSE_SCALE=gpu
export MPLBACKEND=Agg
jupyter nbconvert --to notebook --execute --output 09-gpt-done.ipynb 09-gpt.ipynb
