import { type OptionNames, requireOptions, requireWhole } from '../primitives/require.ts'

/** The most bytes a request body may have; what goes beyond is refused with 413, and not kept. */
export interface BodyLimits {
  /** The body that completes a token, by the endpoint or by the token's URL. Default 3 MiB. */
  readonly completeBytes?: number
}

const NAMES: OptionNames<BodyLimits> = { completeBytes: true }
const MIB = 1_024 * 1_024

/** The limits with their defaults, checked. */
export function readBodyLimits(limits: BodyLimits = {}): Required<BodyLimits> {
  requireOptions(limits, 'limits', NAMES)
  const { completeBytes = 3 * MIB } = limits
  requireWhole(completeBytes, 'limits.completeBytes', { from: 1 })
  return { completeBytes }
}
