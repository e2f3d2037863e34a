/** The owner of a record in a message: its labels as bytes, and the number of the record's type. */
export type RecordOwner = { labels: readonly Buffer[]; type: number };

const headerBytes = 12;
/**
 * How many labels and pointers of one name are read. A name has 127 labels at most, and needs few pointers. A name with
 * more steps is malformed; its pointers may lead in a circle.
 */
const mostSteps = 255;

/**
 * Reads the name at an offset (RFC 1035 §4.1.4). Returns the labels, and the offset after the name. Throws RangeError
 * if the name has no end, or goes beyond the end of the message.
 */
function readLabels(bytes: Buffer, start: number): { labels: Buffer[]; end: number } {
  const labels: Buffer[] = [];
  let at = start;
  // The offset after the first pointer, at which the name ends. Negative before a pointer is read.
  let end = -1;
  for (let steps = 0; steps < mostSteps; steps++) {
    const length = bytes.readUInt8(at);
    if (length === 0) return { labels, end: end < 0 ? at + 1 : end };
    if (length >= 0xc0) {
      if (end < 0) end = at + 2;
      at = bytes.readUInt16BE(at) & 0x3fff;
    } else {
      labels.push(bytes.subarray(at + 1, at + 1 + length));
      at += 1 + length;
    }
  }
  throw new RangeError("A name in the message has no end.");
}

/**
 * Reads the owners of the answers in a message, in their order. `dns-packet` joins the labels of a name with dots, so a
 * label with a dot looks like two labels there. Undefined for a malformed message.
 */
export function answerOwners(bytes: Buffer): RecordOwner[] | undefined {
  try {
    const [questions, answers] = [bytes.readUInt16BE(4), bytes.readUInt16BE(6)];
    let at = headerBytes;
    for (let index = 0; index < questions; index++) at = readLabels(bytes, at).end + 4;
    return Array.from({ length: answers }, () => {
      const { labels, end } = readLabels(bytes, at);
      at = end + 10 + bytes.readUInt16BE(end + 8);
      return { labels, type: bytes.readUInt16BE(end) };
    });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Whether every label is printable ASCII without a dot, so that `wireName` reads the name correctly. */
export const isPlain = ({ labels }: RecordOwner): boolean =>
  labels.every((label) => /^[\x21-\x2d\x2f-\x7e]+$/.test(label.toString("latin1")));

/** The name as zone files write it (RFC 1035 §5.1), in lower case and without a final dot. */
export const spelled = ({ labels }: Pick<RecordOwner, "labels">): string =>
  labels
    .map((label) =>
      label
        .toString("latin1")
        .toLowerCase()
        .replace(/[.\\"();@$]/g, (character) => `\\${character}`)
        .replace(/[^\x21-\x7e]/g, (character) => `\\${String(character.charCodeAt(0)).padStart(3, "0")}`),
    )
    .join(".");
