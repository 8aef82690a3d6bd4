/** The most bytes a request body may have; what goes beyond is refused with 413, and not kept. */
export interface BodyLimits {
  /** The body that completes a token, by the endpoint or by the token's URL. Default 3 MiB. */
  readonly completeBytes?: number
}

const MIB = 1_024 * 1_024

/** The limits with their defaults, checked. */
export function readBodyLimits({ completeBytes = 3 * MIB }: BodyLimits = {}): Required<BodyLimits> {
  if (Number.isSafeInteger(completeBytes) && completeBytes >= 1) return { completeBytes }
  throw new RangeError(
    `Cannot create the handler: limits.completeBytes ${completeBytes} must be a whole number from 1`,
  )
}
