import { type ReactElement, type ReactNode } from 'react'
import { WaitpointProvider } from 'waitpoint/react'

const accessToken = (): Promise<string> => fetch('/access').then((response) => response.text())

export function Providers({ children }: { readonly children: ReactNode }): ReactElement {
  return (
    <WaitpointProvider baseUrl="https://example.com/engine" accessToken={accessToken}>
      {children}
    </WaitpointProvider>
  )
}
