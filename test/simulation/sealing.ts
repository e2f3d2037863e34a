import type { Secrets } from "../../shared/providers/secrets/secrets.ts";

/** Seals a secret for one context, and opens it in this context only. */
export const sealing: Pick<Secrets, "seal" | "open"> = {
  seal: async (text, context) => JSON.stringify([text, context]),
  open: async (sealed, context) => {
    const [text, known] = JSON.parse(sealed) as [string, object];
    if (JSON.stringify(known) !== JSON.stringify(context)) throw new Error("It was sealed for another context.");
    return text;
  },
};
