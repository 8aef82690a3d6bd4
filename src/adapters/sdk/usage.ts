import { plainClock } from '../../clock/plain.ts'
import { takingRequests } from './request-options.ts'

/** What a piece of work took. It costs nothing here. */
export interface ComputeUsage {
  costInCents: number
  durationMs: number
}

/** What a run has used so far. */
export interface CurrentUsage {
  compute: { attempt: ComputeUsage; total: ComputeUsage }
  baseCostInCents: number
  totalCostInCents: number
}

/** Usage of a run. */
export interface Usage {
  /** Nothing costs anything; durations are those of `runs.retrieve`, and 0 here. */
  getCurrent(): CurrentUsage
  /** How long a piece of work takes, by the clock of the system. */
  measure<Result>(work: () => Promise<Result>): Promise<{ result: Result; compute: ComputeUsage }>
}

const took = (durationMs: number): ComputeUsage => ({ costInCents: 0, durationMs })

/** `usage`. */
export const usage: Usage = /* @__PURE__ */ takingRequests<Usage>({
  getCurrent: () => ({
    compute: { attempt: took(0), total: took(0) },
    baseCostInCents: 0,
    totalCostInCents: 0,
  }),
  measure: async (work) => {
    const clock = plainClock()
    const startedAt = clock.now()
    const result = await work()
    return { result, compute: took(clock.now() - startedAt) }
  },
})
