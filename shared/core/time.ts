import * as z from "zod";

/** An instant on the wire: RFC 3339, UTC, milliseconds, `Z`. */
export const Timestamp = z.iso.datetime({ precision: 3 });
