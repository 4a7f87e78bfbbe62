# frozen_string_literal: true

require_relative "mailbox"

module Proctor
  module Host
    # Asks the host, from any thread or fiber. While an answer is awaited, what the host asks back for the same
    # conversation is done by the one who waits: agents and blocks run in the thread of their example.
    #
    # Owns the open requests of a channel; the channel's reading thread hands messages over with `take`.
    class Line
      # The host refused.
      class Refused < Error
        attr_reader :code

        def initialize(error)
          @code = error["code"]
          super(error["message"].to_s)
        end
      end

      GONE = Object.new.freeze
      private_constant :GONE

      def initialize(channel)
        @channel = channel
        @pid = $$
        @lock = Thread::Mutex.new
        @open = {}
        @talking = {}
        @count = 0
        @gone = false
        channel.line = self
      end

      def foreign_process?
        $$ != @pid
      end

      def gone?
        @gone
      end

      # What is being run, in a worker.
      def item
        @channel.item
      end

      def notify(message)
        @channel.notify(message)
      end

      def send_line(line)
        @channel.writer.send_line(line)
      end

      def queue(message)
        @channel.writer.queue(message)
      end

      def queue_line(line)
        @channel.writer.queue_line(line)
      end

      def flush
        @channel.writer.flush
      end

      # Sends a request and waits. Yields what the host asks for `conversation` meanwhile; the block returns the reply.
      def request(action, fields, conversation: nil, &answer)
        mailbox = Mailbox.new
        id = enter(mailbox, conversation)
        @channel.notify({ id: id, action: action }.merge!(fields))
        reply = await(mailbox, &answer)
        raise Refused, reply["error"] if reply["error"]

        reply
      ensure
        leave(id, conversation, reply) if id
      end

      # On the reading thread. False when nobody waits for the message.
      def take(message)
        mailbox = @lock.synchronize do
          message["reply_to"] ? @open[message["reply_to"]] : @talking[message["conversation_id"]]
        end
        mailbox&.push(message)
        !mailbox.nil?
      end

      # On the reading thread: nobody will answer any more.
      def host_gone
        @gone = true
        @lock.synchronize { @open.values }.each { |mailbox| mailbox.push(GONE) }
      end

      private

      def enter(mailbox, conversation)
        raise HostUnavailable, "the proctor host is gone" if @gone

        @lock.synchronize do
          id = "c#{@count += 1}"
          @open[id] = mailbox
          @talking[conversation] = mailbox if conversation
          id
        end
      end

      # Whoever leaves without an answer (a timeout, a throw) tells the host that nobody waits.
      def leave(id, conversation, reply)
        @lock.synchronize do
          @open.delete(id)
          @talking.delete(conversation) if conversation
        end
        @channel.notify({ type: "cancel_request", id: id }) unless reply || @gone
      end

      def await(mailbox)
        loop do
          message = mailbox.pop { @channel.revive }
          raise HostUnavailable, "the proctor host ended in the middle of a conversation" if GONE.equal?(message)
          return message if message["reply_to"]

          @channel.reply(message["id"], yield(message))
        end
      end
    end
  end
end
