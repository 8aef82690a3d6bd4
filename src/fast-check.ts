export type { ExploredSchedule } from './testing/arbitraries/explored-schedule.ts'
export { crashPoints, schedules, type SchedulesOptions } from './testing/arbitraries/schedules.ts'
export {
  chunkBursts,
  clockSkews,
  delaysAround,
  latencies,
  storageFaults,
  type TokenPlan,
  tokenPlans,
} from './testing/arbitraries/world-plans.ts'
