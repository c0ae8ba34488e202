"""Forms of data."""
import numpy as np

from .errors import check_calls as _check_calls


class OneHot:
    """Ids of classes, which are never made dense for sparse inputs. Made by one_hot."""

    def __init__(self, ids, num_classes):
        self.num_classes = int(num_classes)
        if self.num_classes < 1:
            raise TypeError("one_hot: num_classes is %r; expected 1 or more" % (num_classes,))
        is_sequences = len(ids) > 0 and np.ndim(ids[0]) > 0
        self.is_frames = not is_sequences
        self._sequences = [self._checked(each) for each in ids] if is_sequences else [self._checked(ids)]

    def _checked(self, ids):
        array = np.asarray(ids)
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise TypeError("one_hot: ids are whole numbers, of samples or of the steps of sequences; found %r" % (ids,))
        if array.size and (array.min() < 0 or array.max() >= self.num_classes):
            from .errors import DataError
            wrong = int(array[(array < 0) | (array >= self.num_classes)][0])
            raise DataError("one_hot: the id %d is not below num_classes=%d; expected 0 to %d"
                            % (wrong, self.num_classes, self.num_classes - 1))
        return array.astype(np.int32)

    def _one_hot_matrices(self):
        """(columns, starts, values) of a CSR matrix for all samples, or for each sequence."""
        return [(ids, np.arange(ids.size + 1, dtype=np.int32), np.ones(ids.size, np.float32)) for ids in self._sequences]

    def __repr__(self):
        return "one_hot(%d %s, %d)" % (sum(map(len, self._sequences)), "ids", self.num_classes)


def one_hot(ids, num_classes):
    """One-hot data: ids of samples, or lists of ids of sequences.

    >>> import cntk as C
    >>> C.input(3).eval(C.one_hot([2, 0], 3))
    array([[0., 0., 1.],
           [1., 0., 0.]], dtype=float32)
    """
    return OneHot(ids, num_classes)


_check_calls(globals())
