import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { nothingHere } from './area.ts'

/** Prepares a room for pages: its forms are read as URLSearchParams and nothing else is, and whatever goes wrong in it is told by `refuse`. */
export function preparePageRoom(
  room: FastifyInstance,
  formBytesMax: number,
  refuse: (error: unknown, request: FastifyRequest, reply: FastifyReply) => unknown,
): void {
  readForms(room, formBytesMax)
  room.setErrorHandler(refuse)
  room.setNotFoundHandler((request, reply) => refuse(nothingHere(), request, reply))
}

/** Lets a room read forms without files, and nothing else. */
export function readForms(room: FastifyInstance, formBytesMax: number): void {
  room.removeAllContentTypeParsers()
  room.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: formBytesMax },
    (_request, body, done) => done(null, new URLSearchParams(body as string)),
  )
}
