import { channel } from 'node:diagnostics_channel'
import type {
  AttemptMessage,
  DiagnosticMessages,
  LeaseMessage,
  LogMessage,
  RunCreateMessage,
  RunEndMessage,
  RunTriggerMessage,
  StorageCallMessage,
  TokenSettleMessage,
  WaitMessage,
} from '../api/diagnostics.ts'

/** A channel of `node:diagnostics_channel`, by the type of its messages. */
export interface DiagnosticChannel<Message> {
  /** Asked before a message is made: without subscribers there is none. */
  readonly hasSubscribers: boolean
  publish(message: Message): void
}

// Node forgets a channel, and its subscribers, that is not referenced.
export const RUN_TRIGGER: DiagnosticChannel<RunTriggerMessage> =
  /* @__PURE__ */ channelOf('waitpoint:run.trigger')
export const RUN_CREATE: DiagnosticChannel<RunCreateMessage> =
  /* @__PURE__ */ channelOf('waitpoint:run.create')
export const RUN_END: DiagnosticChannel<RunEndMessage> = /* @__PURE__ */ channelOf('waitpoint:run.end')
export const ATTEMPT: DiagnosticChannel<AttemptMessage> = /* @__PURE__ */ channelOf('waitpoint:attempt')
export const WAIT: DiagnosticChannel<WaitMessage> = /* @__PURE__ */ channelOf('waitpoint:wait')
export const TOKEN_SETTLE: DiagnosticChannel<TokenSettleMessage> =
  /* @__PURE__ */ channelOf('waitpoint:token.settle')
export const STORAGE: DiagnosticChannel<StorageCallMessage> = /* @__PURE__ */ channelOf('waitpoint:storage')
export const LEASE: DiagnosticChannel<LeaseMessage> = /* @__PURE__ */ channelOf('waitpoint:lease')
export const LOG: DiagnosticChannel<LogMessage> = /* @__PURE__ */ channelOf('waitpoint:log')

function channelOf<Name extends keyof DiagnosticMessages>(
  name: Name,
): DiagnosticChannel<DiagnosticMessages[Name]> {
  return channel(name)
}
