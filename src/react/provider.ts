import { createContext, createElement, type ReactNode, useContext, useEffect, useMemo, useRef } from 'react'
import { type Client, createClient } from '../client/client.ts'
import type { ClientOptions } from '../client/connection/options.ts'
import { afterPageTurn, onNextFrame } from '../clock/next-frame.ts'
import { Subscriptions } from './subscriptions.ts'

/** How a page reaches its service: by a client of its own, or by what makes one. */
export type ServiceOfPage =
  | { readonly client: Client }
  | ({ readonly client?: undefined } & Pick<ClientOptions, 'baseUrl' | 'accessToken'>)

/** The service of a page, and what its components follow there. */
export interface ServedPage {
  readonly client: Client
  readonly subscriptions: Subscriptions
}

const PageContext = /* @__PURE__ */ createContext<ServedPage | undefined>(undefined)
/** Components of one client share its subscriptions, below whichever provider they are. */
const subscriptionsOf = /* @__PURE__ */ new WeakMap<Client, Subscriptions>()

/**
 * Says to the components in it which service they use: a `client`, or `baseUrl` and `accessToken`. As a function that is asked again when
 * an access token expires or is refused. See docs/react.md.
 */
export function WaitpointProvider({
  children,
  ...service
}: ServiceOfPage & { readonly children?: ReactNode }): ReactNode {
  const client = useClientOf(service)
  const page = useMemo(() => ({ client, subscriptions: subscriptionsFor(client) }), [client])
  return createElement(PageContext.Provider, { value: page }, children)
}

/** The client of the page, for what no hook does. */
export function useClient(): Client {
  return usePage().client
}

/** @throws Error outside of a provider: there is nothing else that could be shown. */
export function usePage(): ServedPage {
  const page = useContext(PageContext)
  if (page === undefined)
    throw new Error('Cannot use a hook of waitpoint/react: there is no <WaitpointProvider> above')
  return page
}

/** A function is often another one each time: the latest is asked. Another text is another client. */
function useClientOf(service: ServiceOfPage): Client {
  const latest = useRef(service)
  useEffect(() => {
    latest.current = service
  })
  const { client: given, ...made } = service
  const { baseUrl = '', accessToken = '' } = made as Partial<ClientOptions>
  const text = typeof accessToken === 'string' ? accessToken : undefined
  return useMemo(() => {
    if (given !== undefined) return given
    const ask = (): string | Promise<string> => {
      const { accessToken: now = '' } = latest.current as Partial<ClientOptions>
      return typeof now === 'string' ? now : now()
    }
    return createClient({ baseUrl, accessToken: text ?? ask })
  }, [given, baseUrl, text])
}

function subscriptionsFor(client: Client): Subscriptions {
  const known = subscriptionsOf.get(client) ?? new Subscriptions({ afterTurn: afterPageTurn, onNextFrame })
  subscriptionsOf.set(client, known)
  return known
}
