import { stepCountIs, streamText, tool, type UIMessage } from 'ai'
import { describe, expect, it } from 'vitest'
import { createEngine, memoryStorage } from 'waitpoint'
import { chatTask, createChatHandler } from 'waitpoint/ai'
import { createTestEngine, testClock, type TestEngine } from 'waitpoint/testing'
import { z } from 'zod'
import { abandonable } from '../support/abandon.ts'
import { allChunks, authorize, ChatPage, textIn, textOf } from './chat-page.ts'
import { call, finish, lastOf, model, words } from './models.ts'

interface Refund {
  readonly order: string
}

/** A chat whose model asks for a refund of each order that is named, and then says what it was told. */
function refunds(options: { readonly timeout?: string } = {}) {
  const made: string[] = []
  let asked = 0
  const refund = tool({
    inputSchema: z.object({ order: z.string() }),
    execute: async ({ order }: Refund) => {
      made.push(order)
      return `refunded ${order}`
    },
  })
  const assistant = model((given) => {
    asked += 1
    const last = given.prompt.at(-1)
    if (last?.role === 'user') {
      const orders = (JSON.parse(lastOf(given)) as { text: string }[])[0]?.text.split(' ') ?? []
      return [...orders.map((order) => call(`call-${order}`, 'refund', { order })), finish('tool-calls')]
    }
    return [...words(lastOf(given)), finish()]
  })
  const task = chatTask({
    id: 'support',
    run: ({ messages, signal, ask }) =>
      streamText({
        model: assistant,
        messages,
        abortSignal: signal,
        stopWhen: stepCountIs(3),
        tools: {
          refund: ask(refund, {
            message: ({ order }) => `Refund ${order}?`,
            approvers: ({ order }) => (order === 'big' ? ['bo'] : ['ann', 'bo']),
            ...options,
          }),
        },
      }),
  })
  return { task, made, asked: () => asked }
}

const pageOf = (t: TestEngine, { task }: ReturnType<typeof refunds>, user = 'ann'): ChatPage =>
  new ChatPage(createChatHandler(t.engine, task, { authorize }), { user })

/** What `addToolApprovalResponse` and the next request make of the message that a page shows. */
async function answered(page: ChatPage, answers: Readonly<Record<string, boolean>>): Promise<UIMessage> {
  const { message, approvals } = await shown(page)
  const parts = message.parts.map((part) => {
    if (!('toolCallId' in part) || part.state !== 'approval-requested') return part
    const approved = answers[part.toolCallId]
    const id = approvals.get(part.toolCallId)!
    return approved === undefined
      ? part
      : { ...part, state: 'approval-responded', approval: { id, approved } }
  })
  return { ...message, parts: parts as UIMessage['parts'] }
}

/** The message under approval, as a page has built it of the chunks. */
async function shown(page: ChatPage): Promise<{ message: UIMessage; approvals: Map<string, string> }> {
  const chunks = await allChunks(await page.follow('?startIndex=0'))
  const message: UIMessage = { id: '', role: 'assistant', parts: [] }
  const approvals = new Map<string, string>()
  for (const chunk of chunks) {
    if (chunk.type === 'start' && chunk.messageId !== undefined) message.id = chunk.messageId
    if (chunk.type === 'tool-input-available')
      message.parts.push({
        type: 'tool-refund',
        toolCallId: chunk.toolCallId,
        state: 'input-available',
        input: chunk.input,
      })
    if (chunk.type === 'tool-approval-request') {
      approvals.set(chunk.toolCallId, chunk.approvalId)
      const at = message.parts.findIndex(
        (part) => 'toolCallId' in part && part.toolCallId === chunk.toolCallId,
      )
      const part = message.parts[at] as object
      message.parts[at] = {
        ...part,
        state: 'approval-requested',
        approval: { id: chunk.approvalId },
      } as never
    }
  }
  return { message, approvals }
}

const answer = async (page: ChatPage, answers: Readonly<Record<string, boolean>>): Promise<Response> =>
  page.post({ messages: [await answered(page, answers)] })

const statuses = async (t: TestEngine): Promise<readonly string[]> =>
  (await t.engine.wait.listTokens({ tags: 'question:chat-approval' })).data.map(({ status }) => status).sort()

/** The keys of the tokens that wait. */
const waiting = async (t: TestEngine): Promise<readonly (string | undefined)[]> =>
  (await t.engine.wait.listTokens({ status: 'WAITING' })).data.map(({ idempotencyKey }) => idempotencyKey)

describe('a tool under approval', () => {
  it('is a question, that the page may answer', async () => {
    const chat = refunds()
    await using t = await createTestEngine({ tasks: [chat.task], alwaysResume: true })
    const page = pageOf(t, chat)
    const chunks = await allChunks(await page.send('a1'))
    expect(chunks.slice(-2).map(({ type }) => type)).toEqual(['tool-approval-request', 'finish'])
    const [asked] = (await t.engine.wait.listTokens({ tags: 'question:chat-approval' })).data
    expect(asked?.question).toMatchObject({
      message: 'Refund a1?',
      approvers: ['ann', 'bo'],
      data: { tool: 'refund', input: { order: 'a1' } },
    })
    // Nothing goes on without an answer, and a page that comes anew sees what waits.
    expect((await allChunks(await page.follow())).slice(-2)).toEqual(chunks.slice(-2))
    expect(chat.made).toEqual([])
    const rest = await allChunks(await answer(page, { 'call-a1': true }))
    expect(rest.map(({ type }) => type)).toContain('tool-output-available')
    expect(textOf(rest)).toContain('refunded a1')
    expect([chat.made, chat.asked()]).toEqual([['a1'], 2])
    const [run] = (await t.engine.wait.listTokens({ tags: 'question:chat-approval' })).data
    expect(run?.answeredBy).toMatchObject({ id: 'ann', via: 'chat' })
    const message = (await page.messages()).at(-1)
    expect(message?.parts.find((part) => part.type === 'tool-refund')).toMatchObject({
      state: 'output-available',
      output: 'refunded a1',
      approval: { approved: true },
    })
  })

  it('may be refused', async () => {
    const chat = refunds()
    await using t = await createTestEngine({ tasks: [chat.task], alwaysResume: true })
    const page = pageOf(t, chat)
    await allChunks(await page.send('a1'))
    const rest = await allChunks(await answer(page, { 'call-a1': false }))
    expect(rest.map(({ type }) => type)).toContain('tool-output-denied')
    expect([chat.made, chat.asked()]).toEqual([[], 2])
    expect(await textIn(await page.send('again'))).toBe('')
    await page.stop((await shown(page)).message.id)
    while ((await page.follow()).status !== 204) await new Promise(setImmediate)
  })

  it('is denied when its time is over', async () => {
    const chat = refunds({ timeout: '2h' })
    await using t = await createTestEngine({ tasks: [chat.task], clock: { onUnanswered: 'timeout' } })
    const page = pageOf(t, chat)
    await allChunks(await page.send('a1'))
    const [run] = (await t.engine.runs.list()).data
    expect((await t.engine.runs.poll(run!)).isSuccess).toBe(true)
    expect((await allChunks(await page.follow('?startIndex=0'))).map(({ type }) => type)).toContain(
      'tool-output-denied',
    )
    expect(chat.made).toEqual([])
  })

  it('may be answered elsewhere: the first answer counts, and every page shows it', async () => {
    const chat = refunds()
    await using t = await createTestEngine({ tasks: [chat.task], alwaysResume: true })
    const page = pageOf(t, chat)
    await allChunks(await page.send('a1'))
    const late = await answered(page, { 'call-a1': false })
    await t.complete({ tag: 'question:chat-approval' }, { approved: true }, { by: { id: 'bo' } })
    const rest = await allChunks(await page.post({ messages: [late] }))
    expect(rest.map(({ type }) => type)).toContain('tool-output-available')
    expect(textOf(rest)).toContain('refunded a1')
    expect(textOf(await allChunks(await page.follow('?startIndex=0')))).toBe(textOf(rest))
    expect(chat.made).toEqual(['a1'])
  })

  it('has each of two calls answered for itself, in any order, by two people', async () => {
    const chat = refunds()
    await using t = await createTestEngine({ tasks: [chat.task], alwaysResume: true })
    const page = pageOf(t, chat)
    await allChunks(await page.send('small big'))
    // Ann may not answer for Bo, and his question waits on.
    expect((await answer(page, { 'call-big': true })).status).toBe(403)
    expect(await statuses(t)).toEqual(['WAITING', 'WAITING'])
    // Of two answers none counts, if one of them is refused.
    expect((await answer(page, { 'call-small': true, 'call-big': true })).status).toBe(403)
    expect(await statuses(t)).toEqual(['WAITING', 'WAITING'])
    const long = await answered(page, { 'call-small': true })
    for (const part of long.parts)
      if ('approval' in part && part.state === 'approval-responded') part.approval.reason = 'x'.repeat(2_001)
    expect((await page.post({ messages: [long] })).status).toBe(422)
    expect(await statuses(t)).toEqual(['WAITING', 'WAITING'])
    const some = await allChunks(await answer(page, { 'call-small': true }))
    expect(some.map(({ type }) => type)).toEqual(['start'])
    expect([await statuses(t), chat.made]).toEqual([['COMPLETED', 'WAITING'], []])
    const waiting = (await t.engine.wait.listTokens({ tags: 'question:chat-approval', status: 'WAITING' }))
      .data
    await t.engine.wait.completeToken(waiting[0]!, { approved: false }, { by: { id: 'bo' } })
    const chunks = await allChunks(await page.follow('?startIndex=0'))
    const outputs = chunks.filter(({ type }) => type.startsWith('tool-output'))
    expect(outputs).toMatchObject([
      { type: 'tool-output-denied', toolCallId: 'call-big' },
      { type: 'tool-output-available', toolCallId: 'call-small', output: 'refunded small' },
    ])
    expect(chat.made).toEqual(['small'])
  })

  it('is not approved by what a client makes up', async () => {
    const chat = refunds()
    await using t = await createTestEngine({ tasks: [chat.task] })
    const page = pageOf(t, chat)
    await allChunks(await page.send('a1'))
    const message = await answered(page, { 'call-a1': true })
    const fabricated = {
      ...message,
      parts: message.parts.map((part) =>
        'approval' in part ? { ...part, approval: { id: 'made-up', approved: true } } : part,
      ),
    }
    const both = { ...message, parts: [...message.parts, ...fabricated.parts] }
    const [bo, other] = [
      pageOf(t, chat, 'bo'),
      new ChatPage(createChatHandler(t.engine, chat.task, { authorize }), { id: 'c2' }),
    ]
    // One of no question, one of them among good ones, that of another user's chat, and that of another chat.
    for (const [from, given] of [
      [page, fabricated],
      [page, both],
      [bo, message],
      [other, message],
    ] as const)
      expect((await from.post({ messages: [given] })).status).toBe(404)
    expect([await statuses(t), chat.made]).toEqual([['WAITING'], []])
    await page.stop(message.id)
    while ((await page.follow()).status !== 204) await new Promise(setImmediate)
  })

  it('is denied when its turn is stopped', async () => {
    const chat = refunds()
    await using t = await createTestEngine({ tasks: [chat.task], alwaysResume: true })
    const page = pageOf(t, chat)
    await allChunks(await page.send('a1 a2'))
    const { message } = await shown(page)
    expect(await page.stop(message.id)).toEqual({ stopped: true })
    const [run] = (await t.engine.runs.list()).data
    expect((await t.engine.runs.poll(run!)).isSuccess).toBe(true)
    expect([await statuses(t), chat.made, chat.asked()]).toEqual([['TIMED_OUT', 'TIMED_OUT'], [], 1])
    const parts = (await page.messages()).at(-1)?.parts.filter(({ type }) => type === 'tool-refund')
    expect(parts).toMatchObject([{ state: 'output-denied' }, { state: 'output-denied' }])
    expect((await t.engine.wait.listTokens({ status: 'WAITING' })).data).toEqual([])
  })

  it('is withdrawn when its turn is canceled, with the button that stops it', async () => {
    const chat = refunds()
    await using t = await createTestEngine({ tasks: [chat.task], alwaysResume: true })
    const page = pageOf(t, chat)
    await allChunks(await page.send('a1'))
    const [run] = (await t.engine.runs.list()).data
    await t.engine.runs.cancel(run!)
    await t.clock.settle()
    expect(await waiting(t)).toEqual([])
    expect(await page.stop(run!.id)).toEqual({ stopped: false })
    expect((await answer(page, { 'call-a1': true })).status).toBe(200)
    expect(chat.made).toEqual([])
  })

  it('is withdrawn by the next turn, if the process of its own died with it', async () => {
    const chat = refunds()
    const [clock, storage] = [testClock(), memoryStorage()]
    const gone = abandonable(clock, storage)
    const first = createEngine({ tasks: [chat.task], storage: gone.storage, clock: gone.clock })
    const begun = new ChatPage(createChatHandler(first, chat.task, { authorize }))
    await allChunks(await begun.send('a1'))
    gone.abandon()
    // It does not have the task, and calls no hook of it.
    const other = createEngine({ storage, clock, execute: false })
    const [run] = (await other.runs.list()).data
    await other.runs.cancel(run!)
    await other.close()
    await using t = await createTestEngine({ tasks: [chat.task], storage, clock })
    expect(await waiting(t)).toHaveLength(2)
    await allChunks(await pageOf(t, chat).send('a2'))
    expect((await waiting(t)).filter((key) => key?.includes(run!.id))).toEqual([])
    await pageOf(t, chat).stop((await shown(pageOf(t, chat))).message.id)
    while ((await pageOf(t, chat).follow()).status !== 204) await new Promise(setImmediate)
  })
})
