import { streamText, type UIMessageChunk } from 'ai'
import { describe, expect, it } from 'vitest'
import { memoryStorage } from 'waitpoint'
import { chatTask, createChatHandler } from 'waitpoint/ai'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'
import {
  allChunks,
  authorize,
  ChatPage,
  chunksIn,
  textIn,
  textOf,
  textsOf,
  userMessage,
} from './chat-page.ts'
import { awayStorage } from '../support/away-storage.ts'
import { finish, HeldModel, lastOf, model, words } from './models.ts'

const said = (prompt: Parameters<typeof lastOf>[0]): string =>
  (JSON.parse(lastOf(prompt)) as { text: string }[])[0]?.text ?? ''
const echo = model((given) => [...words(`You said ${said(given)}`), finish()])
const chat = chatTask({
  id: 'chat',
  run: ({ messages, signal }) => streamText({ model: echo, messages, abortSignal: signal }),
})

/** A chat whose model is driven by hand. */
function heldChat() {
  const held = new HeldModel()
  const task = chatTask({
    id: 'held',
    run: ({ messages, signal }) => streamText({ model: held.model, messages, abortSignal: signal }),
  })
  const called = async (count: number): Promise<HeldModel['calls'][number]> => {
    while (held.calls.length < count) await new Promise(setImmediate)
    return held.calls[count - 1]!
  }
  return { held, task, called }
}

const pageOf = (t: TestEngine, task = chat, given: { user?: string; id?: string } = {}): ChatPage =>
  new ChatPage(createChatHandler(t.engine, task, { authorize }), given)

/** Reads chunks until their text is this one, and goes on with the rest later. */
async function readUntil(chunks: AsyncGenerator<UIMessageChunk>, text: string): Promise<void> {
  let read = ''
  while (read !== text) {
    const next = await chunks.next()
    if (next.done === true) throw new Error(`The answer ended with "${read}"`)
    read += textOf([next.value])
  }
}

/** The id of the message that comes: the first chunk has it. */
async function messageIn(chunks: AsyncGenerator<UIMessageChunk>): Promise<string> {
  const next = await chunks.next()
  return (next.value as { messageId: string }).messageId
}

describe('createChatHandler', () => {
  it('answers a message, and keeps what was said', async () => {
    await using t = await createTestEngine({ tasks: [chat], alwaysResume: true })
    const page = pageOf(t)
    const response = await page.send('hello')
    expect(response.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1')
    const chunks = await allChunks(response)
    expect(chunks[0]?.type).toBe('start')
    expect(chunks.at(-1)?.type).toBe('finish')
    expect(await textIn(await page.send('again'))).toBe('You said again')
    const messages = await page.messages()
    expect(messages[1]?.id).toBe((chunks[0] as { messageId: string }).messageId)
    expect(textsOf(messages)).toEqual([
      'user: hello',
      'assistant: You said hello',
      'user: again',
      'assistant: You said again',
    ])
    expect((await page.follow()).status).toBe(204)
  })

  it('is not made without a function that says who asks', () => {
    const { engine } = { engine: {} } as never
    for (const options of [undefined, {}, { authorize: 'ann' }])
      expect(() => createChatHandler(engine, chat, options as never)).toThrow(TypeError)
    expect(() => createChatHandler(engine, chat, { authorize, maxBodyBytes: 0 })).toThrow(RangeError)
  })

  it('refuses what it cannot use, before anything has changed', async () => {
    await using t = await createTestEngine({ tasks: [chat] })
    const page = pageOf(t)
    const answer = { ...userMessage('x'), role: 'assistant' }
    const bodies: readonly (readonly [number, unknown])[] = [
      [400, []],
      [400, 'text'],
      [400, {}],
      [400, { id: 'c1' }],
      [400, { id: '', messages: [userMessage('x')] }],
      [400, { id: 'x'.repeat(201), messages: [userMessage('x')] }],
      [400, { id: 'c1', messages: [] }],
      [400, { id: 'c1', messages: [{ role: 'user' }] }],
      [400, { id: 'c1', messages: [{ ...userMessage('x'), role: 'system' }] }],
      [400, { id: 'c1', messages: [userMessage('x', '')] }],
      [400, { id: 'c1', messages: [userMessage('x')], trigger: 'resume-stream' }],
      [400, { id: 'c1', messages: [userMessage('x')], messageId: 7 }],
      [404, { id: 'c1', messages: [answer] }],
    ]
    for (const [status, body] of bodies)
      expect([(await page.request('POST', '', JSON.stringify(body))).status, body]).toEqual([status, body])
    const json = JSON.stringify({ id: 'c1', messages: [userMessage('x')] })
    expect((await page.request('POST', '', `${json}{`)).status).toBe(400)
    expect((await page.request('POST', '', json, { 'content-type': 'text/plain' })).status).toBe(415)
    expect((await page.request('POST', '', json, { cookie: '' })).status).toBe(401)
    expect((await page.request('PUT', '', json)).status).toBe(405)
    expect((await page.request('GET', '/c1')).status).toBe(404)
    expect((await page.request('GET', '/%E0%A4%A/stream')).status).toBe(404)
    expect((await page.follow('?startIndex=x')).status).toBe(400)
    expect((await page.post({}, '/c1/stop')).status).toBe(400)
    const small = new ChatPage(
      createChatHandler(t.engine, chat, { authorize, maxBodyBytes: json.length - 1 }),
    )
    expect((await small.request('POST', '', json)).status).toBe(413)
    expect((await t.engine.runs.list()).data).toEqual([])
  })

  it('reads nothing of a body whose sender it does not know', async () => {
    const body = new ReadableStream({
      pull: () => {
        throw new Error('it was read')
      },
    })
    const handler = createChatHandler({} as never, chat, { authorize: () => null })
    const request = new Request('http://chat.test/chat', { method: 'POST', body, duplex: 'half' } as never)
    expect((await handler(request)).status).toBe(401)
  })

  it('says no more of a fault of the application than that there is one', async () => {
    const handler = createChatHandler({} as never, chat, {
      authorize: () => {
        throw new Error('the database of users is at 10.0.0.7')
      },
    })
    const response = await handler(new Request('http://chat.test/chat'))
    expect([response.status, await response.text()]).toEqual([500, expect.not.stringContaining('10.0.0.7')])
  })

  it('says of a storage that is away that it is, and of no turn that it is unknown', async () => {
    const { task, called } = heldChat()
    const away = awayStorage(memoryStorage())
    await using t = await createTestEngine({ tasks: [task], storage: away.storage, alwaysResume: true })
    const page = pageOf(t, task)
    const chunks = chunksIn(await page.send('hello'))
    const streamId = await messageIn(chunks)
    const message = { id: streamId, role: 'assistant', parts: [] }
    const approval = { id: 'a', approved: true }
    const part = { type: 'tool-x', toolCallId: 'c', state: 'approval-responded', input: {}, approval }
    const call = await called(1)
    away.goAway()
    const requests = [
      page.send('another'),
      page.follow(),
      page.follow('?startIndex=0'),
      page.request('GET', '/c1/messages'),
      page.post({ streamId }, '/c1/stop'),
      page.post({ messages: [{ ...message, parts: [part] }] }),
    ]
    const answers = await Promise.all(requests)
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 503))
    away.comeBack()
    call.push(...words('fine'), finish())
    call.end()
    const rest = []
    for await (const chunk of chunks) rest.push(chunk)
    expect(textOf(rest)).toBe('fine')
  })

  it('takes the same message once, however often it is sent', async () => {
    await using t = await createTestEngine({ tasks: [chat] })
    const page = pageOf(t)
    const answers = await Promise.all([page.send('hello'), page.send('hello')])
    for (const answer of answers) expect(await textIn(answer)).toBe('You said hello')
    expect(await textIn(await page.send('hello'))).toBe('You said hello')
    expect((await t.engine.runs.list()).data).toHaveLength(1)
  })

  it('has messages that come during a turn wait, in order', async () => {
    const { task, held, called } = heldChat()
    await using t = await createTestEngine({ tasks: [task] })
    const page = pageOf(t, task)
    const sent = []
    for (const text of ['one', 'two', 'three']) sent.push(allChunks(await page.send(text)))
    for (const [at, text] of ['one', 'two', 'three'].entries()) {
      const { given, push, end } = await called(at + 1)
      expect([held.calls.length, said(given)]).toEqual([at + 1, text])
      push(...words(`to ${text}`), finish())
      end()
      expect(textOf((await sent[at])!)).toBe(`to ${text}`)
    }
    expect(textsOf(await page.messages())).toHaveLength(6)
  })

  it('writes one stream that any number of tabs read, and a tab that goes away stops nothing', async () => {
    const { task, called } = heldChat()
    await using t = await createTestEngine({ tasks: [task] })
    const page = pageOf(t, task)
    const first = chunksIn(await page.send('hello'))
    const { push, end } = await called(1)
    push(...words('one two ').slice(0, -1))
    await readUntil(first, 'one two ')
    const second = chunksIn(await page.follow())
    expect((await second.next()).value).toMatchObject({ type: 'start' })
    await readUntil(second, 'one two ')
    await first.return(undefined)
    push({ type: 'text-delta', id: 't', delta: 'three' }, { type: 'text-end', id: 't' }, finish())
    end()
    const rest = []
    for await (const chunk of second) rest.push(chunk)
    expect(textOf(rest)).toBe('three')
    expect(textsOf(await page.messages())).toEqual(['user: hello', 'assistant: one two three'])
  })

  it('follows from an index, and reads a turn that is over again if it is asked to', async () => {
    await using t = await createTestEngine({ tasks: [chat] })
    const page = pageOf(t)
    const all = await allChunks(await page.send('hello'))
    expect((await page.follow()).status).toBe(204)
    expect(await allChunks(await page.follow('?startIndex=0'))).toEqual(all)
    expect(await allChunks(await page.follow('?startIndex=3'))).toEqual(all.slice(3))
  })

  it('stops the turn that is named, keeps what was written, and no other', async () => {
    const { task, called } = heldChat()
    await using t = await createTestEngine({ tasks: [task], alwaysResume: true })
    const page = pageOf(t, task)
    const first = chunksIn(await page.send('one'))
    const messageId = await messageIn(first)
    const second = allChunks(await page.send('two'))
    const call = await called(1)
    call.push(...words('half of ').slice(0, -1))
    await readUntil(first, 'half of ')
    expect(await page.stop('run_unknown')).toEqual({ stopped: false })
    expect(await pageOf(t, task, { user: 'bo' }).stop(messageId)).toEqual({ stopped: false })
    expect(await page.stop(messageId)).toEqual({ stopped: true })
    const rest = []
    for await (const chunk of first) rest.push(chunk.type)
    expect(rest.at(-1)).toBe('finish')
    // It is older than the turn that goes on.
    const next = await called(2)
    expect(await page.stop(messageId)).toEqual({ stopped: false })
    next.push(...words('whole'), finish())
    next.end()
    expect(textOf(await second)).toBe('whole')
    expect(textsOf(await page.messages())).toEqual([
      'user: one',
      'assistant: half of ',
      'user: two',
      'assistant: whole',
    ])
  })

  it('stops a turn that has not begun', async () => {
    const { task, held, called } = heldChat()
    await using t = await createTestEngine({ tasks: [task] })
    const page = pageOf(t, task)
    const first = allChunks(await page.send('one'))
    const second = await page.send('two')
    const chunks = chunksIn(second)
    const messageId = await messageIn(chunks)
    expect(await page.stop(messageId)).toEqual({ stopped: true })
    const call = await called(1)
    call.push(...words('whole'), finish())
    call.end()
    expect(textOf(await first)).toBe('whole')
    for await (const chunk of chunks) expect(['finish', 'abort']).toContain(chunk.type)
    expect(held.calls).toHaveLength(1)
  })

  it('keeps the chats of users apart', async () => {
    await using t = await createTestEngine({ tasks: [chat] })
    const [ann, bo] = [pageOf(t), pageOf(t, chat, { user: 'bo' })]
    await textIn(await ann.send('secret'))
    expect([await bo.messages(), (await bo.follow('?startIndex=0')).status]).toEqual([[], 204])
    expect(await textIn(await bo.send('mine'))).toBe('You said mine')
    expect(textsOf(await ann.messages())).toEqual(['user: secret', 'assistant: You said secret'])
  })

  it('tells a page of an error of the model, without its text, and goes on with the next message', async () => {
    const broken = model((given) => {
      if (said(given) === 'fail') throw new Error('the key is sk-123')
      return [...words('fine'), finish()]
    })
    const task = chatTask({
      id: 'broken',
      run: ({ messages }) => streamText({ model: broken, messages, maxRetries: 0, onError: () => undefined }),
    })
    await using t = await createTestEngine({ tasks: [task] })
    const page = pageOf(t, task)
    const chunks = await allChunks(await page.send('fail'))
    expect(chunks.at(-1)).toEqual({ type: 'error', errorText: 'An error occurred.' })
    const [run] = (await t.engine.runs.list()).data
    expect(await t.engine.runs.poll(run!)).toMatchObject({
      status: 'FAILED',
      error: { message: 'the key is sk-123' },
    })
    expect((await t.engine.wait.listTokens({ status: 'WAITING' })).data).toEqual([])
    expect(await page.stop(run!.id)).toEqual({ stopped: false })
    expect(await textIn(await page.send('again'))).toBe('fine')
    expect(textsOf(await page.messages())).toEqual(['user: fail', 'user: again', 'assistant: fine'])
  })
})

describe('the history of a chat', () => {
  it('goes on from a message that was edited, or from another answer', async () => {
    await using t = await createTestEngine({ tasks: [chat] })
    const page = pageOf(t)
    for (const text of ['one', 'two', 'three']) await textIn(await page.send(text))
    const edited = { ...userMessage('second', 'm-two') }
    expect(await textIn(await page.post({ messages: [edited], messageId: 'm-two' }))).toBe('You said second')
    expect(textsOf(await page.messages())).toEqual([
      'user: one',
      'assistant: You said one',
      'user: second',
      'assistant: You said second',
    ])
    await textIn(await page.post({ trigger: 'regenerate-message', messages: [edited] }))
    const [, first] = await page.messages()
    expect(textsOf(await page.messages())).toHaveLength(4)
    await textIn(await page.post({ trigger: 'regenerate-message', messageId: first?.id, messages: [] }))
    expect(textsOf(await page.messages())).toEqual(['user: one', 'assistant: You said one'])
    expect((await page.messages())[1]?.id).not.toBe(first?.id)
  })

  it('is that of the application, if it keeps one', async () => {
    let kept = [userMessage('before')]
    const saves: number[] = []
    const task = chatTask({
      id: 'kept',
      run: ({ messages }) =>
        streamText({ model: model(() => [...words(`${messages.length}`), finish()]), messages }),
      loadMessages: ({ chat, user }) => (chat === 'c1' && user.id === 'ann' ? kept : []),
      saveMessages: ({ messages }) => {
        kept = [...messages]
        saves.push(messages.length)
      },
    })
    await using t = await createTestEngine({ tasks: [task], alwaysResume: true })
    const page = pageOf(t, task)
    await textIn(await page.send('now'))
    await textIn(await page.send('then'))
    expect([textsOf(kept), saves]).toEqual([
      ['user: before', 'user: now', 'assistant: 2', 'user: then', 'assistant: 4'],
      [3, 5],
    ])
    expect(await page.messages()).toEqual(kept)
  })
})
