import { Problem } from "../core/errors.ts";
import type { IpStatus } from "./dedicated-ip.ts";

/** 409 `ip_not_ready`: what the dedicated IP is at does not allow it; `detail` is a sentence for people. */
export const notReady = (status: IpStatus, detail: string): Problem =>
  new Problem("ip_not_ready", detail, { ip_status: status });
