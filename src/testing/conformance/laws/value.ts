import type { RunRecord, TokenRecord } from '../../../contract/records.ts'
import type { Law } from '../law.ts'
import { chunkOf, longName, manualToken, queuedRun } from '../sample-records.ts'
import { like, Mismatch, same } from '../sameness.ts'
import { A, B, type Subject } from '../subject.ts'

/** A million characters. No two parts are equal, and a cut at any length may halve a character. */
function longText(): string {
  return JSON.stringify(Array.from({ length: 102_000 }, (_, at) => `${at}😀`))
}

/** An object of 70,000 characters, more than a column of 65,535 takes, with a space that JSON does not need. */
function farText(name: string): string {
  return `{"${name}": "${'0123456789'.repeat(7_000)}"}`
}

/** JSON texts that are others once they were parsed, and so are their texts. */
const JSON_TEXTS: readonly string[] = [
  ...[
    '-0',
    '1.0',
    '1e400',
    '5e-324',
    '1.7976931348623157e308',
    '12345678901234567890',
    '0.1000000000000000055',
  ],
  ...['""', 'null', '" a "', '"\\u0041\\/"', '"\\u0000"', '"a\0b"', '"\\ud83d"', '"\ud83d"', '"\ude00😀"'],
  ...[
    '"\u2028\u2029\ufeff"',
    '"a\r\nb"',
    '"a\u0301 á"',
    '"ÀB"',
    ' [ 1 ,\n2 ] ',
    '{"b":1,"a":{"d":1,"c":2},"a":3}',
  ],
  ...['{"10":1,"9":2,"__proto__":{"a":null}}', `${'['.repeat(2_000)}${']'.repeat(2_000)}`],
]

/** Texts of a name, a key or a tag. */
const NAMES: readonly string[] = [
  '',
  ' ',
  ' Á ',
  'a\u0301',
  'a\0b',
  '\ud83d',
  '\ude00',
  'a\r\nb\u2028',
  'null',
]

/** Instants with their milliseconds: the first that there is, those around the greatest whole numbers of 32 bits, and the last that there is. */
const INSTANTS: readonly number[] = [0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 + 1, 1_700_000_000_123, 8.64e15]

/** Laws of values: each is stored as it is given, and every call that answers a record answers all of it. */
export const valueLaws: readonly Law[] = [
  {
    id: 'values/json',
    law: 'A text in JSON is stored as given, in every field that has one: it is not parsed, and not written anew.',
    async check(s) {
      for (const [at, json] of JSON_TEXTS.entries()) await storeTexts(s, { json, id: `${100 + at}` })
    },
  },
  {
    id: 'values/json-of-chunks',
    law: 'A chunk is answered with its text, and with the value of its text; the end of a stream with its error.',
    async check(s) {
      const values = [
        -1e-7,
        1e21,
        '',
        ' a ',
        'A',
        'a\u0301',
        'a\0\u2028\r\n',
        '\ud83d',
        null,
        false,
        [[]],
        { b: 1, a: { d: 1, c: [] } },
      ]
      const chunks = values.map(chunkOf)
      const run = { ...(await startedRun(s, 'r')), key: 'k' }
      await s.storage.chunks.open({ ...run, attempt: 1, now: s.at(0) })
      await s.storage.chunks.append({ ...run, first: 0, chunks, history: { chunks: 100, bytes: 100_000 } })
      const read = await s.storage.chunks.read({ ...run, from: 0, limit: 100 })
      like(
        'the chunks',
        read?.chunks,
        chunks.map(({ text, value }) => ({ text, value })),
      )
      for (const [at, json] of JSON_TEXTS.entries()) {
        const stream = { ...run, key: `${at}` }
        await s.storage.chunks.open({ ...stream, attempt: 1, now: s.at(0) })
        const end = { reason: 'failed', errorJson: json } as const
        const append = { ...stream, first: 0, chunks: [], end, history: { chunks: 1, bytes: 1_000 } }
        await s.storage.chunks.append(append)
        const ended = await s.storage.chunks.read({ ...stream, from: 0, limit: 1 })
        same('the end', ended?.stream.segments[0]?.end, end)
      }
    },
  },
  {
    id: 'values/names',
    law: 'A text that is absent, one that is empty and one that means nothing to people are different texts, and lists keep their order.',
    async check(s) {
      for (const [at, name] of NAMES.entries()) {
        const names = {
          taskId: name,
          queue: name,
          concurrencyKey: name,
          parentId: name,
          rootId: name,
          version: name,
        }
        const record = {
          ...queuedRun(`r${at}`, { createdAt: s.at(0), ...names }),
          tags: ['b', name, 'a', 'b'],
          key: { scope: name, value: `r${name}` },
        }
        await storedRun(s, record)
        await storedToken(s, {
          ...manualToken(`t${at}`, { createdAt: s.at(0), runId: name }),
          tags: ['b', name, 'a', 'b'],
          key: { scope: `t${name}`, value: name },
        })
      }
      await storedRun(s, queuedRun('bare', { createdAt: s.at(0) }))
      await storedToken(s, manualToken('bare', { createdAt: s.at(0) }))
    },
  },
  {
    id: 'values/numbers',
    law: 'An instant is stored to its millisecond, a count to one; zero is not the same as none.',
    async check(s) {
      for (const [at, instant] of INSTANTS.entries()) {
        const counts = {
          attempt: 2 ** 24 + at,
          policyAttempt: 2 ** 25 + at + 1,
          interruptions: 2 ** 26 + 5 + at,
          epoch: 2 ** 30 + at,
          parks: 2 ** 27 + at,
        }
        await storedRun(s, {
          ...queuedRun(`r${at}`, {
            createdAt: Math.min(instant, 2 ** 48 - 1),
            status: 'DELAYED',
            wakeAt: instant,
            expiresAt: instant,
          }),
          ...counts,
          priorityMs: (at % 2 === 0 ? 1 : -1) * instant,
          key: { scope: 'k', value: `${at}`, expiresAt: instant },
        })
        const key = { scope: 'k', value: `${at}`, expiresAt: instant }
        await storedToken(
          s,
          manualToken(`t${at}`, {
            createdAt: instant,
            kind: 'ONCE',
            status: 'COMPLETED',
            completedAt: instant,
            key,
            timeoutAt: instant,
          }),
        )
        const waits = manualToken(`w${at}`, { createdAt: s.at(0), timeoutAt: s.at(1) + instant })
        await storedToken(s, waits)
      }
      const { id, epoch } = await s.start('streams')
      const stream = { runId: id, epoch, by: A, key: 'k' }
      await s.storage.chunks.open({ ...stream, attempt: 1, now: s.at(0) })
      const [last, history] = [Number.MAX_SAFE_INTEGER - 1, { chunks: 10, bytes: 10_000 }]
      const append = { ...stream, first: 0, chunks: [chunkOf(1)], written: [{ writer: 'w', last }], history }
      await s.storage.chunks.append(append)
      const read = await s.storage.chunks.read({ runId: id, key: 'k', from: 0, limit: 1, writer: 'w' })
      same('what is written', read?.written, last)
    },
  },
  {
    id: 'values/run-in-every-answer',
    law: 'Every call that answers a run answers all of it, as it is stored.',
    async check(s) {
      const { runs, chunks } = s.storage
      const given = fullRun(s, 'r')
      same('the answer to its insert', await runs.insert({ record: given, now: s.at(3), by: B }), {
        record: given,
        isCached: false,
      })
      const stored = async (what: string, answer: RunRecord | undefined): Promise<RunRecord> => {
        const read = await runs.get('r')
        same(what, answer, read)
        same(`a read of some, after ${what}`, await runs.get('r', { taskIds: ['task'], tags: [] }), read)
        same(`a list, after ${what}`, (await runs.list({ tags: ['a'] }, { limit: 5 })).records, [read])
        return read ?? given
      }
      same('a read', await stored('what was given', given), given)
      const other = { ...queuedRun('other', { createdAt: s.at(3) }), key: given.key }
      const held = await runs.insert({ record: other, now: s.at(3), by: A })
      same('the holder of its key', held, { record: given, isCached: true })
      const versions = new Map([['task', 'v 2']])
      const claimed = await stored('its claim', (await s.claim({ versions, now: 4 })).runs[0])
      like('what was claimed', claimed, {
        ...given,
        status: 'EXECUTING',
        attempt: 1,
        policyAttempt: 1,
        owner: A,
        epoch: 1,
        slot: true,
        version: 'v 2',
        startedAt: s.at(4),
        updatedAt: s.at(4),
      })
      await stored('a muster', (await s.claim({ limit: 0, now: 5 })).runs[0])
      const fence = s.fenceOf(claimed, 6)
      const stream = { runId: 'r', epoch: 1, attempt: 1, by: A, now: s.at(6) }
      for (const key of ['k2', 'k1']) await chunks.open({ ...stream, key })
      const metadataJson = farText('n')
      const updated = (await s.update(claimed, { metadataJson, tags: ['d', 'a'] }, 7))?.record
      like('what was changed', await stored('an update', updated), {
        metadataJson,
        tags: ['d', 'a'],
        streams: ['k2', 'k1'],
      })
      await s.insertToken('t', {}, 8)
      await s.wait(claimed, 't', 8)
      await stored('a park', await runs.park(fence))
      await s.settle('t', 9)
      const resumed = await runs.resume(fence)
      await stored('a resume', resumed.outcome === 'resumed' ? resumed.record : undefined)
      const end = { outputJson: farText('o'), errorJson: farText('e'), attemptsJson: farText('a') }
      const ended = (await s.update(claimed, { status: 'FAILED', ...end, finishedAt: s.at(11) }, 12))?.record
      const finished = {
        status: 'FAILED',
        ...end,
        finishedAt: s.at(11),
        updatedAt: s.at(12),
        owner: undefined,
      }
      like('what has ended', await stored('an end', ended), finished)
    },
  },
  {
    id: 'values/expired-run-in-every-answer',
    law: 'A run that expires is answered as it is stored, by the tick or the claim that finds it.',
    async check(s) {
      for (const id of ['a', 'b'])
        await s.storage.runs.insert({
          record: { ...fullRun(s, id), expiresAt: s.at(10) },
          now: s.at(3),
          by: A,
        })
      const ticked = (await s.tick(A, 10, { limit: 1 })).expired
      const claimed = (await s.claim({ now: 11 })).ended
      const answers = [...ticked, ...claimed].map(({ record }) => record)
      for (const id of ['a', 'b'])
        same(
          `run ${id}`,
          answers.find((one) => one.id === id),
          await s.storage.runs.get(id),
        )
      like(
        'both',
        answers.map(({ status, finishedAt }) => [status, finishedAt]),
        [
          ['EXPIRED', s.at(10)],
          ['EXPIRED', s.at(10)],
        ],
      )
    },
  },
  {
    id: 'values/token-in-every-answer',
    law: 'Every call that answers a token answers all of it, as it is stored.',
    async check(s) {
      const { tokens, runs } = s.storage
      const run = await s.start('r')
      const given = fullToken(s, 't')
      const inserted = await tokens.insert({ record: given, now: s.at(1), by: A })
      same('the answer to its insert', inserted, {
        record: given,
        isCached: false,
        settledNow: wasSettled(inserted),
      })
      const stored = async (what: string, answer: TokenRecord | undefined): Promise<TokenRecord> => {
        const read = (await tokens.get('t', s.at(2)))?.record
        same(what, answer, read)
        const filter = { kind: 'MANUAL', tags: ['a'] } as const
        same(`a list, after ${what}`, (await tokens.list(filter, { limit: 5 }, s.at(2))).records, [read])
        return read ?? given
      }
      same('a read', await stored('what was given', given), given)
      const held = await tokens.insert({
        record: { ...fullToken(s, 'other'), key: given.key },
        now: s.at(2),
        by: A,
      })
      await stored('the holder of its key', held === 'stale' ? undefined : held.record)
      await stored('a wait', tokenOf(await s.wait(run, 't', 2)))
      await stored('what the run waits for', (await runs.waits('r'))[0])
      const question = { questionJson: farText('r') }
      const change = { id: 't', question: given.questionJson, ...question, by: A, now: s.at(4) }
      const changed = await tokens.change(change)
      await stored('a change', changed === 'stale' ? undefined : changed?.record)
      const answer = { outputJson: farText('o'), answeredJson: farText('a') }
      const settled = await s.settle('t', 5, { question: question.questionJson, ...answer })
      const done = { ...given, ...question, status: 'COMPLETED', ...answer, completedAt: s.at(5) }
      same(
        'what was settled',
        await stored('a settle', settled === 'stale' ? undefined : settled?.record),
        done,
      )
      await stored('a wait for what is settled', tokenOf(await s.wait(run, 't', 6)))
      const own = {
        ...fullToken(s, 'own'),
        kind: 'ONCE',
        status: 'COMPLETED',
        outputJson: farText('p'),
        completedAt: s.at(1),
        key: { scope: 'r', value: 'once' },
        runId: 'r',
        timeoutAt: undefined,
      } as const
      await tokens.insert({ record: own, now: s.at(6), by: A })
      same('what the run asked for', (await runs.asked('r')).tokens, [own])
    },
  },
  {
    id: 'values/late-token-in-every-answer',
    law: 'A token past its deadline is answered as it is stored, by the tick or the list that settles it.',
    async check(s) {
      const { tokens } = s.storage
      const late = { status: 'TIMED_OUT' } as const
      for (const [id, at] of [
        ['a', 10],
        ['b', 20],
      ] as const)
        await tokens.insert({ record: { ...fullToken(s, id), timeoutAt: s.at(at) }, now: s.at(1), by: A })
      const ticked = (await s.tick(A, 12)).settled
      same('the tick', ticked, [
        { ...fullToken(s, 'a'), ...late, timeoutAt: s.at(10), completedAt: s.at(10) },
      ])
      same('the read', (await tokens.get('a', s.at(13)))?.record, ticked[0])
      const listed = (await tokens.list({ kind: 'MANUAL', tags: ['a'] }, { limit: 5 }, s.at(22))).settled
      same('the list', listed, [
        { ...fullToken(s, 'b'), ...late, timeoutAt: s.at(20), completedAt: s.at(20) },
      ])
    },
  },
  {
    id: 'values/long-names',
    law: 'Names of two thousand characters are stored as given, and count as a whole; a tag and a writer may have some hundred.',
    async check(s) {
      for (const end of ['1', '2']) {
        const name = `${longName(2_047)}${end}`
        const names = {
          taskId: name,
          queue: `${name}q`,
          concurrencyKey: `${name}c`,
          parentId: name,
          version: name,
        }
        const tags = [`${'é'.repeat(127)}${end}`]
        const key = { scope: `${longName(150)}${end}`, value: name }
        const record = queuedRun(`r${end}`, { createdAt: s.at(0), ...names, rootId: name, tags, key })
        await storedRun(s, record)
        await storedToken(s, manualToken(`t${end}`, { createdAt: s.at(0), runId: name, tags, key }))
        const claimed = await s.claim({ taskIds: [name], queueLimits: new Map([[record.queue, 1]]) })
        like('the claim', claimed.runs, [
          { id: record.id, queue: record.queue, concurrencyKey: names.concurrencyKey },
        ])
        const [run = record] = claimed.runs
        const stream = { runId: run.id, epoch: run.epoch, key: name, by: A }
        const [writer, history] = [`${'w'.repeat(255)}${end}`, { chunks: 10, bytes: 10_000 }]
        await s.storage.chunks.open({ ...stream, attempt: 1, now: s.at(0) })
        await s.storage.chunks.append({
          ...stream,
          first: 0,
          chunks: [chunkOf(end)],
          written: [{ writer, last: 7 }],
          history,
        })
        const read = await s.storage.chunks.read({ ...stream, from: 0, limit: 1, writer })
        like('the stream', read, {
          stream: { key: name },
          chunks: [{ text: JSON.stringify(end) }],
          written: 7,
        })
      }
    },
  },
  {
    id: 'values/long-texts',
    law: 'A text of a million characters is stored as given, in every field but names.',
    async check(s) {
      const text = longText()
      await storeTexts(s, { json: text, id: 'long' })
      const { chunks, settings, schedules } = s.storage
      sameText('setting', await settings.getOrInsert('long', text), text)
      sameText('setting, read', await settings.getOrInsert('long', 'other'), text)
      if (schedules !== undefined) {
        await schedules.put({ id: 'long', text, by: A })
        sameText('schedule', await schedules.get('long'), text)
        sameText('a listed schedule', (await schedules.list())?.schedules[0]?.text, text)
      }
      const run = { ...(await startedRun(s, 'r')), key: 'k' }
      await s.storage.chunks.open({ ...run, attempt: 1, now: s.at(0) })
      const [chunk, end] = [chunkOf(text), { reason: 'failed', errorJson: text } as const]
      await chunks.append({
        ...run,
        first: 0,
        chunks: [chunkOf(1), chunk],
        end,
        history: { chunks: 9, bytes: 1e8 },
      })
      const read = await chunks.read({ ...run, from: 0, limit: 9 })
      sameText('chunk', read?.chunks[1]?.text, chunk.text)
      same('value of a chunk', read?.chunks[1]?.value, text)
      const ended = read?.stream.segments[0]?.end
      sameText('end of a stream', ended?.reason === 'failed' ? ended.errorJson : undefined, text)
    },
  },
]

/** Stores a text in all fields of JSON that a run and tokens have, and reads them. */
async function storeTexts(
  s: Subject,
  { json, id }: { readonly json: string; readonly id: string },
): Promise<void> {
  const { runs, tokens } = s.storage
  const given = { payloadJson: json, optionsJson: json, metadataJson: json }
  await runs.insert({ record: queuedRun(`r${id}`, { createdAt: s.at(0), ...given }), now: s.at(0), by: A })
  const run = await runs.get(`r${id}`)
  for (const [field, text] of Object.entries(given)) sameText(field, run?.[field as keyof typeof given], text)
  const change = { outputJson: json, errorJson: json, attemptsJson: json }
  const expected = { status: ['QUEUED'] } as const
  await runs.update({
    id: `r${id}`,
    expected,
    change: { status: 'CANCELED', ...change },
    by: A,
    now: s.at(1),
  })
  const ended = [
    await runs.get(`r${id}`),
    (await runs.list({ status: ['CANCELED'] }, { limit: 1 })).records[0],
  ]
  for (const record of ended)
    for (const [field, text] of Object.entries({ ...given, ...change }))
      sameText(field, record?.[field as keyof typeof given | keyof typeof change], text)
  const answer = { outputJson: json, answeredJson: json }
  await s.insertToken(`t${id}`)
  await tokens.change({ id: `t${id}`, question: undefined, questionJson: json, by: A, now: s.at(0) })
  like('a settle', await s.settle(`t${id}`, 1, { question: json, ...answer }), { won: true })
  const stored = { ...answer, questionJson: json }
  await s.insertToken(`o${id}`, { kind: 'ONCE', status: 'COMPLETED', completedAt: s.at(0), ...stored })
  const page = await tokens.list({ kind: 'ONCE', status: ['COMPLETED'] }, { limit: 1 }, s.at(1))
  const read = [await tokens.get(`t${id}`, s.at(1)), await tokens.get(`o${id}`, s.at(1))]
  for (const record of [page.records[0], ...read.map((one) => one?.record)])
    for (const field of ['outputJson', 'questionJson', 'answeredJson'] as const)
      sameText(`${field} of a token`, record?.[field], json)
}

/** Fails unless the texts are equal, and says where they are not: they may be long. */
function sameText(what: string, seen: string | undefined, expected: string): void {
  if (seen === expected) return
  let at = 0
  while (seen !== undefined && at < expected.length && seen[at] === expected[at]) at += 1
  const shown = (text: string | undefined): unknown =>
    text && { length: text.length, at, there: text.slice(at, at + 20) }
  throw new Mismatch(what, { expected: shown(expected), seen: shown(seen) })
}

async function startedRun(
  s: Subject,
  id: string,
): Promise<{ readonly runId: string; readonly epoch: number; readonly by: string }> {
  const { epoch } = await s.start(id)
  return { runId: id, epoch, by: A }
}

async function storedRun(s: Subject, record: RunRecord): Promise<void> {
  await s.storage.runs.insert({ record, now: s.at(0), by: A })
  same('a run', await s.storage.runs.get(record.id), record)
  same(
    'a listed run',
    (await s.storage.runs.list({ taskIds: [record.taskId] }, { limit: 100 })).records.find(
      ({ id }) => id === record.id,
    ),
    record,
  )
}

async function storedToken(s: Subject, record: TokenRecord): Promise<void> {
  await s.storage.tokens.insert({ record, now: s.at(0), by: A })
  same('a token', (await s.storage.tokens.get(record.id, s.at(0)))?.record, record)
  const { kind } = record
  same(
    'a listed token',
    (await s.storage.tokens.list({ kind }, { limit: 100 }, s.at(0))).records.find(
      ({ id }) => id === record.id,
    ),
    record,
  )
}

/** A queued run with a value in every field that one may have. */
function fullRun(s: Subject, id: string): RunRecord {
  const jsons = { payloadJson: farText('p'), optionsJson: farText('x'), metadataJson: farText('m') }
  const names = { parentId: 'parent', rootId: 'root', version: 'v 1', concurrencyKey: 'c', queue: 'q' }
  const key = { scope: 's', value: id, expiresAt: s.at(900_001) }
  const rest = { priorityMs: 7, expiresAt: s.at(900_002), updatedAt: s.at(2), tags: ['b', 'a'], key }
  return queuedRun(id, { createdAt: s.at(1), ...jsons, ...names, ...rest, limits: ['m', 'l'] })
}

/** A token with a value in every field that one may have. */
function fullToken(s: Subject, id: string): TokenRecord {
  const key = { scope: 's', value: id, expiresAt: s.at(900_001) }
  const rest = { tags: ['b', 'a'], key, runId: 'r', questionJson: farText('q') }
  return manualToken(id, { createdAt: s.at(1), timeoutAt: s.at(900_002), ...rest })
}

function tokenOf(answer: Awaited<ReturnType<Subject['wait']>>): TokenRecord | undefined {
  return 'token' in answer ? answer.token : undefined
}

function wasSettled(answer: Awaited<ReturnType<Subject['insertToken']>>): boolean | undefined {
  return answer === 'stale' ? undefined : answer.settledNow
}
