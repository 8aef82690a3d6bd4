import type { EngineStats } from '../../core/engine.ts'

/** The numbers of an engine and its handler at one moment. */
export interface MeasuredEngine {
  readonly stats: EngineStats
  /** Runs that may execute at once; infinite without a limit. */
  readonly slots: number
  /** Requests that follow runs or streams. */
  readonly subscriptions: number
}

type Sample = readonly [labels: string, value: number]

interface Metric {
  readonly name: string
  readonly type: 'counter' | 'gauge'
  readonly help: string
  readonly samples: readonly Sample[]
}

/** The media type of the text format of Prometheus. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** The numbers as text, in format 0.0.4 of Prometheus. */
export function metricsText(measured: MeasuredEngine): string {
  return metricsOf(measured).map(textOf).join('')
}

function metricsOf({ stats, slots, subscriptions }: MeasuredEngine): readonly Metric[] {
  const gauge = (name: string, help: string, value: number): Metric => ({
    name,
    type: 'gauge',
    help,
    samples: [['', value]],
  })
  return [
    {
      name: 'waitpoint_runs_ended_total',
      type: 'counter',
      help: 'Runs that this engine has ended, by their status.',
      samples: Object.entries(stats.ended).map(([status, count]) => [`{status="${status}"}`, count]),
    },
    gauge('waitpoint_attempts', 'Functions that were called here and have not ended.', stats.attempts),
    gauge('waitpoint_slots_used', 'Attempts that execute: they hold a slot.', stats.executing),
    ...(Number.isFinite(slots)
      ? [gauge('waitpoint_slots', 'Runs that may execute here at once: the option concurrency.', slots)]
      : []),
    gauge('waitpoint_attempts_waiting', 'Attempts whose run waits, without a slot.', stats.waiting),
    gauge('waitpoint_waits_open', 'Tokens that runs here wait for.', stats.waits),
    {
      name: 'waitpoint_lease_renewals_total',
      type: 'counter',
      help: 'How often this engine has taken or renewed its lease.',
      samples: [['', stats.leaseRenewals]],
    },
    gauge(
      'waitpoint_storage_away',
      '1 while the storage does not answer, else 0.',
      Number(stats.isStorageAway),
    ),
    gauge('waitpoint_http_subscriptions_open', 'Requests that follow runs or streams.', subscriptions),
  ]
}

function textOf({ name, type, help, samples }: Metric): string {
  const lines = samples.map(([labels, value]) => `${name}${labels} ${value}\n`)
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}
