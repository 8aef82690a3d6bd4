import type { EngineStats } from '../../core/engine.ts'
import { type Histogram, MOST_LABELS, OTHER } from './histogram.ts'
import { MOST_COUNTED, type QueueLine } from './queue-lines.ts'
import type { Stopwatch } from './stopwatch.ts'

/** The numbers of an engine and its handler at one moment. */
export interface MeasuredEngine {
  readonly stats: EngineStats
  /** Runs that may execute at once; infinite without a limit. */
  readonly slots: number
  /** Requests that follow runs or streams. */
  readonly subscriptions: number
  /** None if the storage did not say. */
  readonly queues: readonly QueueLine[]
  readonly durations: Stopwatch
  readonly now: number
}

type Sample = readonly [labels: string, value: number]

interface Metric {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  /** The name of a sample is that of the metric, and what its labels begin with: `_sum{task="a"}`. */
  readonly samples: readonly Sample[]
}

/** The media type of the text format of Prometheus. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

const BOUNDED = `The first ${MOST_LABELS} are told apart, the rest is "${OTHER}".`
const MEASURED =
  'In seconds, since this was first asked for; nothing is measured while it is not asked for 10 minutes.'

/** The numbers as text, in format 0.0.4 of Prometheus. */
export function metricsText(measured: MeasuredEngine): string {
  return [...metricsOf(measured), ...queueMetrics(measured), ...durationMetrics(measured.durations)]
    .filter(({ samples }) => samples.length > 0)
    .map(textOf)
    .join('')
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

function queueMetrics({ queues, now }: MeasuredEngine): readonly Metric[] {
  const gauge = (name: string, help: string, value: (line: QueueLine) => number | undefined): Metric => ({
    name: `waitpoint_queue_${name}`,
    type: 'gauge',
    help: `${help} ${BOUNDED}`,
    samples: queues.flatMap((line) => {
      const found = value(line)
      return found === undefined ? [] : [[label('queue', line.queue), found] as const]
    }),
  })
  return [
    gauge(
      'depth',
      `Runs in line on the storage (QUEUED), by their queue. At most ${MOST_COUNTED} are looked at.`,
      ({ queued }) => queued,
    ),
    gauge(
      'depth_is_more',
      '1 if more runs than waitpoint_queue_depth says may be in line, else 0.',
      ({ isMore }) => Number(isMore),
    ),
    gauge(
      'oldest_age_seconds',
      'For how long the oldest run in line has been there, by its queue. Absent: none is, or it was not found.',
      ({ oldestAt }) => oldestAt && Math.max(0, now - oldestAt) / 1_000,
    ),
  ]
}

function durationMetrics({ runs, waits, calls }: Stopwatch): readonly Metric[] {
  const histogram = (name: string, help: string, samples: readonly Sample[]): Metric => ({
    name: `waitpoint_${name}_seconds`,
    type: 'histogram',
    help: `${help} ${MEASURED}`,
    samples,
  })
  return [
    histogram(
      'run_duration',
      `From the trigger of a run to its end here, by its task. ${BOUNDED}`,
      samplesOf(runs, 'task'),
    ),
    histogram(
      'wait_duration',
      `How long runs here waited, by their task. ${BOUNDED}`,
      samplesOf(waits, 'task'),
    ),
    histogram('storage_call_duration', 'How long the storage took, by the call.', samplesOf(calls, 'call')),
  ]
}

function samplesOf({ boundaries, byLabel }: Histogram, name: string): readonly Sample[] {
  return [...byLabel].flatMap(([value, { counts, sum }]) => {
    let count = 0
    const within = counts.map((more, at): Sample => {
      count += more
      return [`_bucket${label(name, value, `,le="${boundaries[at] ?? '+Inf'}"`)}`, count]
    })
    return [...within, [`_sum${label(name, value)}`, sum], [`_count${label(name, value)}`, count]] as const
  })
}

function label(name: string, value: string, more = ''): string {
  const escaped = value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
  return `{${name}="${escaped}"${more}}`
}

function textOf({ name, type, help, samples }: Metric): string {
  const lines = samples.map(([labels, value]) => `${name}${labels} ${value}\n`)
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}
