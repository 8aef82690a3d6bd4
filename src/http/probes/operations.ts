import { FLAG, json, object, type Operation, type OperationGroup, TEXT } from '../operation.ts'

const operations: readonly Operation[] = [
  {
    id: 'readHealth',
    method: 'get',
    path: '/healthz',
    tag: 'Probes',
    summary: 'Ask whether the engine is well',
    description:
      '200 if the storage answers a small read within 2 seconds. 503 if it does not, and when the engine is closing. The answer has no details.',
    allowed: 'open',
    answers: { 200: { description: 'It is well.', content: json(object({ ok: FLAG })) } },
  },
  {
    id: 'readMetrics',
    method: 'get',
    path: '/metrics',
    tag: 'Probes',
    summary: 'Read the numbers of the engine, as text for Prometheus',
    allowed: 'secret key',
    answers: { 200: { description: 'The numbers, in format 0.0.4.', content: { 'text/plain': TEXT } } },
  },
]

/** The operations for monitors, as they are documented. */
export const PROBE_OPERATIONS: OperationGroup = { operations, schemas: {} }
