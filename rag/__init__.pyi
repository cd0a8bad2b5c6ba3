from rag.api.first_sweep import try_folder as try_folder
from rag.api.pipelines import open_bundle as open_bundle
from rag.api.pipelines import open_pipeline as open_pipeline
from rag.api.sweeps import load_experiment as load_experiment
from rag.api.sweeps import open_sweep as open_sweep
from rag.api.sweeps import plan as plan
from rag.api.sweeps import sweep as sweep
from rag.api.verdicts import compare as compare
from rag.api.verdicts import gate as gate
from rag.api.writing import write_report as write_report
from rag.core.errors import UserError as UserError

__version__: str
