// A proxy in front of `proctor serve` that adds its token: the conformance suite knows no tokens.
//
//   node add_token.mjs ADDRESS TOKEN     prints its own port
import http from 'node:http'

const [address, token] = process.argv.slice(2)
const [host, port] = address.split(':')
const server = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: `Bearer ${token}` }
  const { method, url: path } = request
  const forwarded = http.request({ host, port, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers)
    answer.pipe(response)
  })
  forwarded.on('error', () => response.destroy())
  // A client that closes its connection cancels its request.
  response.on('close', () => forwarded.destroy())
  request.pipe(forwarded)
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
