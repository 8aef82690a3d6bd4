import type { KeyRecord } from '../../../../src/contract/records.ts'
import type { RunFilter } from '../../../../src/contract/storage.ts'
import type { Break } from './broken-storage.ts'

/** Storages that change a text, or take it for another one. */

const keysAreTrimmed: Break = (memory) => ({
  runs: {
    insert(request) {
      const { key } = request.record
      return memory.runs.insert({ ...request, record: { ...request.record, key: key && trimmed(key) } })
    },
  },
})

function trimmed(key: KeyRecord): KeyRecord {
  return { ...key, value: key.value.trim() }
}

const tagsHaveNoCase: Break = (memory) => {
  const list = ({ tags, ...filter }: RunFilter): ReturnType<typeof memory.runs.list> => {
    const { records, ...page } = memory.runs.list(filter, { limit: 1_000 })
    const lower = (one: string): string => one.toLowerCase()
    const wanted = tags?.map(lower)
    return {
      ...page,
      records: records.filter((run) => run.tags.map(lower).some((tag) => wanted?.includes(tag))),
    }
  }
  return {
    runs: {
      list: (filter, page) => (filter.tags === undefined ? memory.runs.list(filter, page) : list(filter)),
    },
  }
}

const streamKeysAreTrimmed: Break = (memory) => ({
  chunks: {
    open: (request) => memory.chunks.open({ ...request, key: request.key.trim() }),
    append: (request) => memory.chunks.append({ ...request, key: request.key.trim() }),
    read: (request) => memory.chunks.read({ ...request, key: request.key.trim() }),
  },
})

export const brokenTexts: Readonly<Record<string, Break>> = {
  'texts/records': (memory) => ({
    tokens: {
      settle: (request) => memory.tokens.settle({ ...request, outputJson: request.outputJson?.normalize() }),
    },
  }),
  'texts/keys': keysAreTrimmed,
  'texts/names': tagsHaveNoCase,
  'texts/queues': (memory) => ({
    runs: {
      claim({ queueLimits, ...request }) {
        const lower = Array.from(queueLimits, ([name, limit]) => [name.toLowerCase(), limit] as const)
        return memory.runs.claim({ ...request, queueLimits: new Map(lower) })
      },
    },
  }),
  'texts/streams': streamKeysAreTrimmed,
  'texts/settings': (memory) => ({
    settings: { getOrInsert: (name, candidate) => memory.settings.getOrInsert(name.trim(), candidate) },
  }),
}
