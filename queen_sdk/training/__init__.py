"""Training, selection and export. Needs the extra `train`."""

from queen_sdk.errors import missing_extra

try:
    import accelerate  # noqa: F401
    import torch  # noqa: F401
    import transformers  # noqa: F401
except ImportError as error:
    raise missing_extra(error.name or "torch", "train") from error
