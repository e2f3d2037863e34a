/**
 * Whether a bounce is hard: the address cannot be reached, now or later. These enhanced status codes (RFC 3463) say so:
 * - `5.1.x`: there is no such address or domain; but not `5.1.7` and `5.1.8`, which blame the sender's address
 * - `5.2.1`: the mailbox is disabled
 * - `5.4.4`: the domain has no mail server
 * - `5.0.0`: a permanent failure without a cause
 *
 * A bounce with another code, or without a code, is soft: its cause is the mail, the sender's reputation, a full
 * mailbox, or a server that may come back.
 */
export const isHardBounce = (status: string | undefined): boolean =>
  status !== undefined && /^5\.(?:1\.(?![78]$)\d+|2\.1|4\.4|0\.0)$/.test(status);
