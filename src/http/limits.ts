import { parseDuration } from '../primitives/duration.ts'
import { type OptionNames, requireOptions, requireWhole, show } from '../primitives/require.ts'
import type { Duration } from '../api/token.ts'

/** The request rate of one credential: a burst of `requests`, and as many in every period `per`. */
export interface RateLimit {
  /**
   * Requests that may come at once, and in every such time.
   *
   * @unit requests
   */
  readonly requests: number
  /** That time. */
  readonly per: Duration
}

/**
 * Limits for one request and for one credential. A request beyond a limit is refused with a 4xx that names the limit.
 * An oversized body is refused with 413 as soon as it exceeds the limit, and is not kept.
 */
export interface HandlerLimits {
  /**
   * The body that completes a token, by the endpoint or by the token's URL.
   *
   * @default `3_145_728` (3 MiB)
   */
  readonly completeBytes?: number
  /**
   * The body that creates a token.
   *
   * @default `10_240` (10 KiB)
   */
  readonly createTokenBytes?: number
  /**
   * The body that triggers a run, and a payload that is sent ahead of it.
   *
   * @default `3_145_728` (3 MiB)
   */
  readonly triggerBytes?: number
  /**
   * The body that changes the metadata of a run, and the metadata it leads to.
   *
   * @default `2_097_152` (2 MiB)
   */
  readonly metadataBytes?: number
  /**
   * The body that appends one chunk to a stream.
   *
   * @default `524_288` (512 KiB)
   */
  readonly chunkBytes?: number
  /**
   * Every other body.
   *
   * @default `65_536` (64 KiB)
   */
  readonly otherBytes?: number
  /**
   * Bodies that are received at the same time, together, for each access token and each URL of a token. Secret keys have no
   * limit.
   *
   * @default `67_108_864` (64 MiB)
   */
  readonly uploadBytes?: number
  /**
   * Payloads sent ahead that wait for their runs, together, for each credential.
   *
   * @default `33_554_432` (32 MiB)
   */
  readonly packetBytes?: number
  /**
   * Payloads sent ahead that wait for their runs, for each credential.
   *
   * @unit payloads
   * @default `100`
   */
  readonly packets?: number
  /**
   * Runs of one batch.
   *
   * @unit runs
   * @default `500`
   */
  readonly batchRuns?: number
  /**
   * Streams of one run that may be begun from outside. Its task may have more.
   *
   * @unit streams
   * @default `100`
   */
  readonly streams?: number
  /**
   * Tags of one token or run, at most 10.
   *
   * @unit tags
   * @default `10`
   */
  readonly tags?: number
  /**
   * Length of an idempotency key, at most 2048.
   *
   * @unit characters
   * @default `2_048`
   */
  readonly keyLength?: number
  /**
   * Items of a page, at most 100.
   *
   * @unit items
   * @default `100`
   */
  readonly pageSize?: number
  /**
   * Run and stream subscriptions that one credential has open.
   *
   * @unit subscriptions
   * @default `1_000`
   */
  readonly subscriptions?: number
  /**
   * How often one credential may ask.
   *
   * @default none
   */
  readonly rate?: RateLimit
}

/** The limits of a handler with their defaults applied. */
export type Limits = Readonly<Record<CountName, number>> & {
  readonly rate: { readonly requests: number; readonly perMs: number } | undefined
}

type CountName = Exclude<keyof HandlerLimits, 'rate'>

interface Range {
  readonly byDefault: number
  readonly from: number
  readonly to?: number
}

const KIB = 1_024
const MIB = 1_024 * KIB

const COUNTS: Readonly<Record<CountName, Range>> = {
  completeBytes: { byDefault: 3 * MIB, from: 1 },
  createTokenBytes: { byDefault: 10 * KIB, from: 1 },
  triggerBytes: { byDefault: 3 * MIB, from: 1 },
  metadataBytes: { byDefault: 2 * MIB, from: 1 },
  chunkBytes: { byDefault: 512 * KIB, from: 1 },
  otherBytes: { byDefault: 64 * KIB, from: 1 },
  uploadBytes: { byDefault: 64 * MIB, from: 1 },
  packetBytes: { byDefault: 32 * MIB, from: 0 },
  packets: { byDefault: 100, from: 0 },
  batchRuns: { byDefault: 500, from: 1 },
  streams: { byDefault: 100, from: 0 },
  tags: { byDefault: 10, from: 0, to: 10 },
  keyLength: { byDefault: 2_048, from: 1, to: 2_048 },
  pageSize: { byDefault: 100, from: 1, to: 100 },
  subscriptions: { byDefault: 1_000, from: 1 },
}
const COUNT_NAMES = Object.keys(COUNTS) as readonly CountName[]
const NAMES: OptionNames<HandlerLimits> = { ...COUNTS, rate: true }
const RATE_NAMES: OptionNames<RateLimit> = { requests: true, per: true }

/**
 * Checks the limits of a handler and applies the defaults.
 *
 * @throws TypeError or RangeError for invalid limits.
 */
export function readLimits(limits: HandlerLimits = {}): Limits {
  requireOptions(limits, 'limits', NAMES)
  const counts = COUNT_NAMES.map((name) => [name, readCount(limits, name)] as const)
  // The table has every name, so the result has every name.
  return { ...(Object.fromEntries(counts) as Record<CountName, number>), rate: readRate(limits.rate) }
}

function readCount(limits: HandlerLimits, name: CountName): number {
  const { byDefault, ...range } = COUNTS[name]
  const count = limits[name] ?? byDefault
  requireWhole(count, `limits.${name}`, range)
  return count
}

function readRate(rate: RateLimit | undefined): Limits['rate'] {
  if (rate === undefined) return undefined
  requireOptions(rate, 'limits.rate', RATE_NAMES)
  const { requests, per } = rate
  requireWhole(requests, 'limits.rate.requests', { from: 1 })
  const perMs = parseDuration(per, 'limits.rate.per')
  if (perMs > 0) return { requests, perMs }
  throw new RangeError(`Cannot use limits.rate.per ${show(per)}: it must be a positive duration`)
}
