/**
 * The two `ip` processes of an ADD, started before the request is read: they need as long to start as the plugin to
 * read it. They do nothing until they are told.
 */
import { openSandbox, type Sandbox } from '../host/sandbox.ts'
import { openSession, type Session } from '../host/session.ts'

export interface Ahead {
  readonly host: Session
  readonly sandbox: Session
  readonly netns: Sandbox
}

/** Starts them; undefined when there is no such namespace, which the ADD will tell. */
export function startAhead(path: string): Ahead | undefined {
  const netns = openSandbox(path)
  if (!netns) return undefined
  return { host: openSession(), sandbox: openSession(netns.handle), netns }
}

/** Ends them untold. */
export async function dropAhead({ host, sandbox, netns }: Ahead): Promise<void> {
  await Promise.all([host.close(), sandbox.close()])
  netns.close()
}
