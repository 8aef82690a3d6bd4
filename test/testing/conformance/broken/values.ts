import type { RunRecord, TokenRecord } from '../../../../src/contract/records.ts'
import { type Break, tickLike } from './broken-storage.ts'

/** Storages that change a value, or answer a part of a record. */

function insertsLike(change: (record: RunRecord) => Partial<RunRecord>): Break {
  return (memory) => ({
    runs: {
      insert(request) {
        const { record } = request
        return memory.runs.insert({ ...request, record: { ...record, ...change(record) } })
      },
    },
  })
}

function withoutTags(token: TokenRecord): TokenRecord {
  return { ...token, tags: [] }
}

export const brokenValues: Readonly<Record<string, Break>> = {
  'values/json': insertsLike(({ payloadJson }) => ({ payloadJson: payloadJson?.replaceAll('\r\n', '\n') })),
  'values/json-of-chunks': (memory) => ({
    chunks: {
      read(request) {
        const read = memory.chunks.read(request)
        const short = (value: unknown): unknown => (typeof value === 'number' ? Math.fround(value) : value)
        return read && { ...read, chunks: read.chunks.map((one) => ({ ...one, value: short(one.value) })) }
      },
    },
  }),
  'values/names': insertsLike(({ parentId }) => ({ parentId: parentId === '' ? undefined : parentId })),
  'values/numbers': insertsLike(({ priorityMs }) =>
    priorityMs === undefined ? {} : { priorityMs: Math.min(priorityMs, 2 ** 31 - 1) },
  ),
  'values/run-in-every-answer': (memory) => ({
    runs: {
      park(request) {
        const parked = memory.runs.park(request)
        return parked && { ...parked, optionsJson: undefined }
      },
    },
  }),
  'values/expired-run-in-every-answer': tickLike(({ expired }) => ({
    expired: expired.map(({ record, ready }) => ({ record: { ...record, optionsJson: undefined }, ready })),
  })),
  'values/token-in-every-answer': (memory) => ({
    tokens: {
      await(request) {
        const answer = memory.tokens.await(request)
        return 'token' in answer ? { ...answer, token: withoutTags(answer.token) } : answer
      },
    },
  }),
  'values/late-token-in-every-answer': tickLike(({ settled }) => ({ settled: settled.map(withoutTags) })),
  'values/long-names': insertsLike(({ concurrencyKey }) => ({
    concurrencyKey: concurrencyKey?.slice(0, 1_000),
  })),
  'values/long-texts': (memory) => ({
    tokens: {
      settle: (request) =>
        memory.tokens.settle({ ...request, outputJson: request.outputJson?.slice(0, 500_000) }),
    },
  }),
}
