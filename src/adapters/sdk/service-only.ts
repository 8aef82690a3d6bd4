import { hostedOnly } from './hosted-only.ts'
import type { Untyped } from './untyped.ts'

/** A function or class of the hosted service. It may be called with type arguments, as there, and throws `ERR_HOSTED_ONLY`. */
export interface ServiceCall {
  <_First = Untyped, _Second = Untyped, _Third = Untyped>(...values: Untyped[]): Untyped
  new <_First = Untyped>(...values: Untyped[]): Untyped
}

/** A namespace of the hosted service: its functions, and its namespaces. */
type Service<Call extends string, Space extends string = never> = Readonly<Record<Call, ServiceCall>> &
  Readonly<Record<Space, Untyped>>

/**
 * An export of the published SDK that only the hosted service can serve, with everything in it. A file that imports it loads;
 * the first call of it throws `ERR_HOSTED_ONLY` and says by its path what was called.
 */
function serviceOnly<Export extends object>(path: string, cure: string): Export {
  const refuse = (): never => {
    throw hostedOnly(path, cure)
  }
  const handler: ProxyHandler<object> = {
    apply: refuse,
    construct: refuse,
    // Awaited, printed or compared it is a plain object.
    get: (_target, name): object | undefined =>
      isMember(name) ? serviceOnly(`${path}.${name}`, cure) : undefined,
    has: (_target, name) => isMember(name),
  }
  // A function that can be constructed, hence no arrow function. It has whatever members the published types name.
  return new Proxy<object>(function refused() {}, handler) as Export
}

/** Whether a service has such a member: any name may be one. */
function isMember(name: string | symbol): name is string {
  return typeof name === 'string' && name !== 'then'
}

const SESSIONS = 'send messages to a run by streams.input, and let it write streams'
const LIMITS = 'give tasks a queue({ name, concurrencyLimit }) in common, and change it with queues'
const WEBHOOKS = 'receive the request in a route of your own, and trigger a task there'

/** `query`. */
export const query: {
  execute(
    query: string,
    options: QueryOptions & { format: 'csv' },
    requestOptions?: object,
  ): Promise<{ format: 'csv'; results: string }>
  execute<Row extends Record<string, Untyped> = Record<string, Untyped>>(
    query: string,
    options?: QueryOptions & { format?: 'json' },
    requestOptions?: object,
  ): Promise<{ format: 'json'; results: Row[] }>
  readonly dashboards: Untyped
} = /* @__PURE__ */ serviceOnly('query', 'use runs.list, or ask the database of the engine')

/** Options of `query.execute`. */
export interface QueryOptions {
  scope?: 'environment' | 'project' | 'organization'
  period?: string
  from?: Date | number
  to?: Date | number
  format?: 'json' | 'csv'
}

/** `deployments`. */
export const deployments: Service<'retrieveCurrent' | 'list'> = /* @__PURE__ */ serviceOnly(
  'deployments',
  'nothing is deployed, tasks are the code of this process',
)

/** `prompts`. */
export const prompts: Service<
  | 'createOverride'
  | 'define'
  | 'list'
  | 'promote'
  | 'reactivateOverride'
  | 'removeOverride'
  | 'resolve'
  | 'updateOverride'
  | 'versions'
> = /* @__PURE__ */ serviceOnly('prompts', 'keep the text of the prompt in your code')

/** `skills`. */
export const skills: Service<'define'> = /* @__PURE__ */ serviceOnly(
  'skills',
  'read the files of the skill in your code',
)

/** `sessions`. */
export const sessions: Service<
  'start' | 'retrieve' | 'update' | 'close' | 'list' | 'open' | 'defineChannel'
> = /* @__PURE__ */ serviceOnly('sessions', SESSIONS)

/** `SessionHandle`. */
export const SessionHandle: ServiceCall = /* @__PURE__ */ serviceOnly('SessionHandle', SESSIONS)
export type SessionHandle = Untyped

/** `SessionInputChannel`. */
export const SessionInputChannel: ServiceCall = /* @__PURE__ */ serviceOnly('SessionInputChannel', SESSIONS)
export type SessionInputChannel<_In = unknown> = Untyped

/** `SessionOutputChannel`. */
export const SessionOutputChannel: ServiceCall = /* @__PURE__ */ serviceOnly('SessionOutputChannel', SESSIONS)
export type SessionOutputChannel<_Out = unknown> = Untyped

/** `TriggerClient`. */
export const TriggerClient: ServiceCall = /* @__PURE__ */ serviceOnly(
  'TriggerClient',
  'use tasks, runs and the others as they are imported, or createClient of waitpoint/client',
)
export type TriggerClient = Untyped

/** `concurrencyLimit`. */
export const concurrencyLimit: ServiceCall = /* @__PURE__ */ serviceOnly('concurrencyLimit', LIMITS)

/** `concurrencyLimits`. */
export const concurrencyLimits: Service<'list' | 'override' | 'pause' | 'reset' | 'resume' | 'retrieve'> =
  /* @__PURE__ */ serviceOnly('concurrencyLimits', LIMITS)

/** `toolTask`. */
export const toolTask: (
  options: { run: (payload: Untyped, params: Untyped) => unknown } & Record<string, Untyped>,
) => Untyped = /* @__PURE__ */ serviceOnly(
  'toolTask',
  'define it with schemaTask, and trigger it in a tool of your own',
)

/** `webhook`. */
export const webhook: (
  options: { onEvent: (params: Untyped) => unknown } & Record<string, Untyped>,
) => Untyped = /* @__PURE__ */ serviceOnly('webhook', WEBHOOKS)

/** `chatEvent`. */
export const chatEvent: ServiceCall = /* @__PURE__ */ serviceOnly('chatEvent', WEBHOOKS)

/** `defineWebhookEndpoint`. */
export const defineWebhookEndpoint: ServiceCall = /* @__PURE__ */ serviceOnly(
  'defineWebhookEndpoint',
  WEBHOOKS,
)

/** `normalizeKeyString`. */
export const normalizeKeyString: (key: string) => string = /* @__PURE__ */ serviceOnly(
  'normalizeKeyString',
  WEBHOOKS,
)

type Source =
  | 'custom'
  | 'stripe'
  | 'github'
  | 'svix'
  | 'standardWebhooks'
  | 'square'
  | 'discord'
  | 'clerk'
  | 'resend'
  | 'openai'
  | 'replicate'
  | 'recallai'
  | 'brex'
  | 'composio'
  | 'gitlab'
  | 'whatsapp'
  | 'hookdeck'

type Provider =
  | 'calendly'
  | 'calCom'
  | 'sentry'
  | 'pagerduty'
  | 'vercel'
  | 'linear'
  | 'notion'
  | 'typeform'
  | 'docusign'
  | 'jira'
  | 'intercom'
  | 'zendesk'
  | 'attio'
  | 'workos'
  | 'elevenlabs'
  | 'vapi'
  | 'retell'
  | 'shopify'
  | 'loops'
  | 'granola'
  | 'autumn'
  | 'metronome'
  | 'mux'
  | 'tailscale'
  | 'langfuse'
  | 'infisical'
  | 'planetscale'
  | 'plain'
  | 'firecrawl'
  | 'supabase'

/** `webhookSources`. */
export const webhookSources: Service<Source> = /* @__PURE__ */ serviceOnly('webhookSources', WEBHOOKS)

/** `providerProducers`. */
export const providerProducers: Service<Provider> = /* @__PURE__ */ serviceOnly('providerProducers', WEBHOOKS)

/** `webhooks`. */
export const webhooks: Service<Source | Provider | 'constructEvent', 'endpoint' | 'waiter'> & {
  readonly SIGNATURE_HEADER_NAME: string
} = /* @__PURE__ */ serviceOnly('webhooks', WEBHOOKS)

/** `markChatAgentRunForStreamsWarning`. There is nothing to warn of: a page follows the streams of its run, in a chat as well. */
export function markChatAgentRunForStreamsWarning(): void {}
