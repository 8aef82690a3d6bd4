import { streamText, type UIMessageChunk } from 'ai'
import { describe, expect, it } from 'vitest'
import { createEngine, memoryStorage } from 'waitpoint'
import { chatTask, createChatHandler } from 'waitpoint/ai'
import { createTestEngine, testClock } from 'waitpoint/testing'
import { abandonable } from '../support/abandon.ts'
import { allChunks, authorize, ChatPage, chunksIn, textIn, textOf, textsOf } from './chat-page.ts'
import { finish, HeldModel, words } from './models.ts'

/** A chat that pays for what it has looked up, and says it word by word. */
function paidChat(retry?: { maxAttempts: number }) {
  const held = new HeldModel()
  let paid = 0
  const task = chatTask({
    id: 'paid',
    ...(retry && { retry }),
    run: async ({ messages, signal, once }) => {
      await once('look up', () => (paid += 1))
      return streamText({
        model: held.model,
        messages,
        abortSignal: signal,
        maxRetries: 0,
        onError: () => undefined,
      })
    },
  })
  const called = async (count: number): Promise<HeldModel['calls'][number]> => {
    while (held.calls.length < count) await new Promise(setImmediate)
    return held.calls[count - 1]!
  }
  return { task, called, calls: () => held.calls.length, paid: () => paid }
}

async function allOf(chunks: AsyncGenerator<UIMessageChunk>): Promise<void> {
  for await (const _ of chunks);
}

describe('a turn whose process dies', () => {
  it('goes on in another one: what was paid for is not paid again, and each page shows one answer', async () => {
    const { task, called, paid } = paidChat()
    const [clock, storage] = [testClock(), memoryStorage()]
    const gone = abandonable(clock, storage)
    const first = createEngine({ tasks: [task], storage: gone.storage, clock: gone.clock })
    const begun = new ChatPage(createChatHandler(first, task, { authorize }))
    await begun.send('hello')
    const cut = await called(1)
    cut.push(...words('half of ').slice(0, -1))

    await using t = await createTestEngine({ tasks: [task], storage, clock })
    const page = new ChatPage(createChatHandler(t.engine, task, { authorize }))
    const connected = chunksIn(await page.follow())
    let read = ''
    while (read !== 'half of ') read += textOf([(await connected.next()).value as never])
    gone.abandon()
    const next = await called(2)
    next.push(...words('a whole answer'), finish())
    next.end()
    // What it has is not written on: it reads again.
    await expect(allOf(connected)).rejects.toThrow()
    const again = await page.follow('?startIndex=0')
    expect(textOf(await allChunks(again))).toBe('a whole answer')
    expect([textsOf(await page.messages()), paid()]).toEqual([
      ['user: hello', 'assistant: a whole answer'],
      1,
    ])
    // The message may have been sent by a page that never heard of it.
    expect(await textIn(await page.send('hello'))).toBe('a whole answer')
  })

  it('is tried again after an error of the model, and a page that reads again shows one answer', async () => {
    const { task, called, calls, paid } = paidChat({ maxAttempts: 2 })
    await using t = await createTestEngine({ tasks: [task] })
    const page = new ChatPage(createChatHandler(t.engine, task, { authorize }))
    const connected = chunksIn(await page.send('hello'))
    const broken = await called(1)
    broken.push(...words('half').slice(0, -1), { type: 'error', error: new Error('overloaded') })
    broken.end()
    await expect(allOf(connected)).rejects.toThrow()
    await t.clock.until(() => calls() === 2)
    const next = await called(2)
    const again = allChunks(await page.follow())
    next.push(...words('whole'), finish())
    next.end()
    expect(textOf(await again)).toBe('whole')
    expect([textsOf(await page.messages()), paid()]).toEqual([['user: hello', 'assistant: whole'], 1])
  })
})
