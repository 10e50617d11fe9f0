"Packaging from settings.ini, the one place where names, versions and requirements are written."
import re
from configparser import ConfigParser
from pathlib import Path
from setuptools import find_packages, setup

here = Path(__file__).parent
parser = ConfigParser(delimiters=["="])
parser.read(here / "settings.ini", encoding="utf-8")
cfg = parser["DEFAULT"]
readme = here / "README.md"

setup(
    name=cfg["lib_name"],
    version=cfg["version"],
    description=cfg["description"],
    long_description=re.sub(r"\]\((?![a-z]+:|#)", f"]({cfg['git_url']}/blob/main/", readme.read_text(encoding="utf-8")) if readme.exists() else "",
    long_description_content_type="text/markdown",
    author=cfg["author"],
    author_email=cfg["author_email"],
    url=cfg["git_url"],
    license="Apache-2.0",
    license_files=["LICENSE"],
    project_urls={"Changes": cfg["git_url"] + "/blob/main/CHANGELOG.md", "Security": cfg["git_url"] + "/blob/main/SECURITY.md"},
    keywords=cfg["keywords"],
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Intended Audience :: Science/Research",
        "Operating System :: OS Independent",
        "Programming Language :: Python :: 3 :: Only",
        "Topic :: Scientific/Engineering :: Information Analysis",
        "Typing :: Typed",
    ],
    packages=find_packages(include=["dplit", "dplit.*"]),
    package_data={"dplit": ["py.typed", "data/*"]},
    python_requires=f">={cfg['min_python']}",
    install_requires=cfg["requirements"].split(),
    extras_require={name: cfg[f"{name}_requirements"].split() for name in ("dev", "dask", "parquet")},
    entry_points={"console_scripts": cfg["console_scripts"].split()},
    zip_safe=False,
)
