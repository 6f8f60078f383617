#!/usr/bin/env python
from memsite.cli import main

if __name__ == "__main__":
    main()
