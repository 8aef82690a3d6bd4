import { defined } from '../../primitives/defined.ts'
import { WireRecord } from './record.ts'
import type { StoredError } from '../../api/errors.ts'

/** The error of a run: in the form of the API, or in the form of a row, which has a `type`. */
export function readStoredError(value: unknown): StoredError | undefined {
  if (typeof value === 'string') return { name: 'Error', message: value }
  if (typeof value !== 'object' || value === null) return undefined
  const wire = new WireRecord(value, 'an error')
  const raw = wire.value('raw')
  const thrown = raw === undefined || typeof raw === 'string' ? raw : JSON.stringify(raw)
  const code = wire.text('code')
  return {
    name: wire.text('name') ?? 'Error',
    message: wire.text('message') ?? thrown ?? code ?? 'unknown',
    ...defined({ stack: wire.text('stackTrace') ?? wire.text('stack'), code }),
  }
}

/** The stored error as an `Error`. */
export function errorOf({ name, message, stack, code }: StoredError): Error {
  return Object.assign(new Error(message), { name, ...defined({ stack, code }) })
}
