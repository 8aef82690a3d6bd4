import type { UIMessage } from 'ai'
import type { Run } from '../../api/run.ts'
import type { Turn, TurnOutput, TurnRequest } from './turn.ts'

/** The messages of turns in their order: what was asked, and what was answered if it was. */
export function turnMessages(turns: readonly Run[]): readonly UIMessage[] {
  let messages: readonly UIMessage[] = []
  for (const { payload, output } of turns) {
    messages = messagesFor(messages, payload as Turn)
    if (output !== undefined) messages = [...messages, (output as TurnOutput).message]
  }
  return messages
}

/** What a turn is to answer: the history as far as the turn goes on from it, and its own message. */
export function messagesFor(
  messages: readonly UIMessage[],
  { trigger, messageId, message }: TurnRequest,
): readonly UIMessage[] {
  const found = messages.findIndex(({ id }) => id === messageId)
  if (trigger === 'submit-message') {
    const kept = found === -1 ? messages : messages.slice(0, found)
    return message === undefined ? kept : [...kept, message]
  }
  const at = messageId === undefined ? messages.length - 1 : found
  return messages[at]?.role === 'assistant' ? messages.slice(0, at) : messages.slice(0, at + 1)
}
