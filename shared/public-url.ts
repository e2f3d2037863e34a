import * as z from "zod";

const Environment = z.object({ PUBLIC_URL: z.url({ protocol: /^https?$/ }).default("http://127.0.0.1:8080") });

/** Where people reach the API, for the links to it, without a slash at its end. Needs the environment when it is called. */
export const publicUrl = (): string => Environment.parse(process.env).PUBLIC_URL.replace(/\/$/, "");
