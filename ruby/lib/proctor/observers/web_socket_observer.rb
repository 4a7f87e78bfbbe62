# frozen_string_literal: true

require "socket"
require "digest/sha1"

module Proctor
  module Observers
    # Sends every event to the WebSocket clients at a port of this machine. On the bus of a run the host serves the port, where
    # it is not subclassed: clients get all events from the first one on. On a bus of its own the observer does, and clients get
    # what is published while they are connected.
    class WebSocketObserver < Base
      attr_reader :port

      def initialize(port: 4567, **options)
        @port = port
        @lock = Thread::Mutex.new
        super(**options)
      end

      # @private
      def destination
        "ws://localhost:#{port}"
      end

      def broadcast(event)
        server&.broadcast(event.to_json)
      end

      Events::TYPES.each_key { |type| alias_method(EventBus.hook(type), :broadcast) }

      # Listens from now on, before the first event, on a bus of its own.
      def start
        server
        self
      end

      def stop
        @lock.synchronize { @server&.stop }
      end

      private

      # A port that is taken costs this observer one warning.
      def server
        @lock.synchronize do
          next @server if @tried

          @tried = true
          @server = Server.new(port).tap { |server| @port = server.port }
        end
      end

      # A server that only sends (RFC 6455). What clients say is read and dropped.
      class Server
        KEY = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        HEADER_BYTES = 8192

        def initialize(port)
          @listener = TCPServer.new("127.0.0.1", port)
          @clients = []
          @lock = Thread::Mutex.new
          Native.background("proctor-websocket") { loop { accept(@listener.accept) } }
        end

        def port
          @listener.addr[1]
        end

        def broadcast(text)
          frame = frame_of(text.b)
          @lock.synchronize { @clients.dup }.each { |client| send_to(client, frame) }
        end

        def stop
          @listener.close
          @lock.synchronize { @clients.each(&:close) }
        end

        private

        def accept(client)
          Native.background("proctor-websocket") do
            greet(client) ? drop_input(client) : client.close
          rescue IOError, SystemCallError
            forget(client)
          end
        end

        def greet(client)
          header = +""
          header << client.readpartial(1024) until header.include?("\r\n\r\n") || header.bytesize > HEADER_BYTES
          key = header[/^Sec-WebSocket-Key:\s*(\S+)/i, 1]
          return false unless key && local?(header)

          accepted = [Digest::SHA1.digest(key + KEY)].pack("m0")
          # Under the lock: who has the answer gets every event from then on.
          @lock.synchronize do
            client.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" \
                         "Sec-WebSocket-Accept: #{accepted}\r\n\r\n")
            @clients << client
          end
        end

        # A page of another site must not read the events.
        def local?(header)
          origin = header[/^Origin:\s*(\S+)/i, 1]
          origin.nil? || origin.match?(%r{\Ahttps?://(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?\z})
        end

        def drop_input(client)
          loop { client.readpartial(4096) }
        rescue EOFError
          forget(client)
        end

        # One that does not read is cut off rather than waited for.
        def send_to(client, frame)
          forget(client) if client.write_nonblock(frame, exception: false) != frame.bytesize
        rescue IOError, SystemCallError
          forget(client)
        end

        def forget(client)
          @lock.synchronize { @clients.delete(client) }
          client.close
        rescue IOError
          nil
        end

        def frame_of(bytes)
          size = bytes.bytesize
          length = if size < 126 then [size].pack("C")
                   elsif size < 65_536 then [126, size].pack("Cn")
                   else [127, size].pack("CQ>")
                   end
          "\x81".b + length + bytes
        end
      end
    end
  end
end
